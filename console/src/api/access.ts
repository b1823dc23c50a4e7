/** Questions to the server whether the user may do something. */
import { useEffect, useState } from "preact/hooks";
import { requestJson } from "./client";

export interface AccessQuestion {
  verb: string;
  group: string;
  resource: string;
  namespace?: string;
  name?: string;
}

interface SelfSubjectAccessReview {
  status?: { allowed?: boolean };
}

/** Return true if the user may do something. */
export async function mayDo(question: AccessQuestion): Promise<boolean> {
  const review = await requestJson<SelfSubjectAccessReview>("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    method: "POST",
    body: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes: question } },
  });
  return review.status?.allowed === true;
}

/** Return true if the user may do something, false if not, and null until the server has answered. */
export function useAccess(question: AccessQuestion): boolean | null {
  const [allowed, setAllowed] = useState<boolean | null>(null);
  useEffect(() => {
    mayDo(question).then(setAllowed, () => setAllowed(false));
  }, [JSON.stringify(question)]);
  return allowed;
}
