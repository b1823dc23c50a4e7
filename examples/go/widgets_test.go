package widgets

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	crds    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgets = "/apis/example.com/v1/namespaces/default/widgets"
)

type object = map[string]any

var widgetCRD = object{
	"apiVersion": "apiextensions.k8s.io/v1",
	"kind":       "CustomResourceDefinition",
	"metadata":   object{"name": "widgets.example.com"},
	"spec": object{
		"group": "example.com",
		"scope": "Namespaced",
		"names": object{"plural": "widgets", "kind": "Widget"},
		"versions": []object{{
			"name": "v1", "served": true, "storage": true,
			"schema": object{"openAPIV3Schema": object{
				"type": "object",
				"properties": object{"spec": object{
					"type":       "object",
					"properties": object{"size": object{"type": "integer", "minimum": 1, "default": 3}},
				}},
			}},
		}},
	},
}

func widget(name string, spec object) object {
	return object{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": object{"name": name}, "spec": spec}
}

func TestWidgets(t *testing.T) {
	plane := StartControlPlane(t)
	if status := plane.Request(t, "POST", crds, widgetCRD, nil); status != http.StatusCreated {
		t.Fatalf("the CRD was not created: status %d", status)
	}
	for deadline := time.Now().Add(startTimeout); plane.Request(t, "GET", widgets, nil, nil) != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("the CRD is not served")
		}
		time.Sleep(10 * time.Millisecond)
	}

	t.Run("defaults are set", func(t *testing.T) {
		var created struct{ Spec struct{ Size int } }
		status := plane.Request(t, "POST", widgets, widget("first", object{}), &created)
		if status != http.StatusCreated || created.Spec.Size != 3 {
			t.Errorf("status %d, size %d", status, created.Spec.Size)
		}
	})
	t.Run("invalid objects are rejected", func(t *testing.T) {
		var failure struct{ Message string }
		status := plane.Request(t, "POST", widgets, widget("second", object{"size": 0}), &failure)
		want := "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"
		if status != http.StatusUnprocessableEntity || !strings.Contains(failure.Message, want) {
			t.Errorf("status %d, message %q", status, failure.Message)
		}
	})
	t.Run("the administrator is known by the client certificate", func(t *testing.T) {
		var review struct {
			Status struct{ UserInfo struct{ Username string } }
		}
		body := object{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
		plane.Request(t, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body, &review)
		if review.Status.UserInfo.Username != "admin" {
			t.Errorf("user %q", review.Status.UserInfo.Username)
		}
	})
}
