/** True once an element has come near the visible part of the page. */
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

export function useSeen(element: RefObject<Element | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (seen || !element.current) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
      },
      { rootMargin: "200px" },
    );
    observer.observe(element.current);
    return (): void => observer.disconnect();
  }, [seen]);
  return seen;
}
