package widgets

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const startTimeout = 60 * time.Second

// ControlPlane is a running kube-apiserver from KUBEBUILDER_ASSETS, and a client with the permissions of an
// administrator. It is started as controller-runtime's envtest starts it.
type ControlPlane struct {
	URL    string
	Client *http.Client
}

// StartControlPlane starts etcd and kube-apiserver, and stops both when the test ends. It skips the test if
// KUBEBUILDER_ASSETS is not set.
func StartControlPlane(t *testing.T) *ControlPlane {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set; run: polykind assets bin; export KUBEBUILDER_ASSETS=$PWD/bin")
	}
	dir := t.TempDir()
	serving, clients := newAuthority(t, "serving"), newAuthority(t, "clients")
	servingCert := serving.sign(t, pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth)
	admin := pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}
	adminCert := clients.sign(t, admin, x509.ExtKeyUsageClientAuth)
	servingCert.write(t, dir, "apiserver")
	clients.write(t, dir, "client-ca")
	newAuthority(t, "service-accounts").write(t, dir, "sa-signer")

	etcd := fmt.Sprintf("http://127.0.0.1:%d", freePort(t))
	start(t, filepath.Join(assets, "etcd"),
		"--data-dir="+filepath.Join(dir, "etcd"),
		"--listen-client-urls="+etcd,
		"--advertise-client-urls="+etcd,
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", freePort(t)))
	waitUntilHealthy(t, http.DefaultClient, etcd+"/health")

	port := freePort(t)
	plane := &ControlPlane{URL: fmt.Sprintf("https://127.0.0.1:%d", port)}
	start(t, filepath.Join(assets, "kube-apiserver"),
		"--authorization-mode=RBAC",
		"--bind-address=127.0.0.1",
		"--cert-dir="+dir,
		"--client-ca-file="+filepath.Join(dir, "client-ca.crt"),
		"--disable-admission-plugins=ServiceAccount",
		"--etcd-servers="+etcd,
		fmt.Sprintf("--secure-port=%d", port),
		"--service-account-issuer="+plane.URL+"/",
		"--service-account-key-file="+filepath.Join(dir, "sa-signer.crt"),
		"--service-account-signing-key-file="+filepath.Join(dir, "sa-signer.key"),
		"--service-cluster-ip-range=10.0.0.0/24")
	roots := x509.NewCertPool()
	roots.AddCert(serving.certificate)
	plane.Client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs:      roots,
		Certificates: []tls.Certificate{{Certificate: [][]byte{adminCert.certificate.Raw}, PrivateKey: adminCert.key}},
	}}}
	t.Cleanup(plane.Client.CloseIdleConnections)
	waitUntilHealthy(t, plane.Client, plane.URL+"/readyz")
	return plane
}

// Request sends a request with a JSON body, and decodes the response into `result` unless it is nil. It returns the
// status code.
func (c *ControlPlane) Request(t *testing.T, method, path string, body, result any) int {
	t.Helper()
	var encoded []byte
	if body != nil {
		encoded = must(json.Marshal(body))
	}
	request := must(http.NewRequest(method, c.URL+path, bytes.NewReader(encoded)))
	request.Header.Set("Content-Type", "application/json")
	response := must(c.Client.Do(request))
	defer response.Body.Close()
	text := must(io.ReadAll(response.Body))
	if result != nil {
		if err := json.Unmarshal(text, result); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return response.StatusCode
}

// start runs a program until the test ends. If the test has failed, it logs the program's output.
func start(t *testing.T, program string, args ...string) {
	t.Helper()
	var output bytes.Buffer
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		err := command.Wait()
		if t.Failed() {
			t.Logf("%s: %v\n%s", program, err, &output)
		}
	})
}

func waitUntilHealthy(t *testing.T, client *http.Client, url string) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		response, err := client.Get(url)
		if err != nil {
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatalf("%s is not healthy after %s", url, startTimeout)
}

func freePort(t *testing.T) int {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// keyPair is a certificate and its private key.
type keyPair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) keyPair {
	t.Helper()
	return issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}, nil)
}

func (authority keyPair) sign(t *testing.T, subject pkix.Name, usage x509.ExtKeyUsage) keyPair {
	t.Helper()
	return issue(&x509.Certificate{
		Subject:     subject,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, &authority)
}

// issue signs a certificate with the key of the authority. Without an authority, the certificate is self-signed.
func issue(template *x509.Certificate, authority *keyPair) keyPair {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template.SerialNumber = must(rand.Int(rand.Reader, big.NewInt(1<<62)))
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	if authority == nil {
		authority = &keyPair{template, key}
	}
	der := must(x509.CreateCertificate(rand.Reader, template, authority.certificate, &key.PublicKey, authority.key))
	return keyPair{must(x509.ParseCertificate(der)), key}
}

func (pair keyPair) write(t *testing.T, dir, name string) {
	t.Helper()
	key := must(x509.MarshalPKCS8PrivateKey(pair.key))
	for suffix, block := range map[string]*pem.Block{
		".crt": {Type: "CERTIFICATE", Bytes: pair.certificate.Raw},
		".key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// must returns the value. It panics on an error, because no test can continue without a key, a port or a response.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
