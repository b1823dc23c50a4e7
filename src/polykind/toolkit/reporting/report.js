"use strict";
// The page works without this script. It adds copy buttons, filters, and opens all details for printing.
(() => {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "Copied";
      } catch {
        const selection = getSelection();
        selection.selectAllChildren(button.parentElement.querySelector("code"));
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
  for (const input of document.querySelectorAll("input[data-filter]")) {
    const box = input.closest(".filterable");
    input.parentElement.hidden = false;
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of box.querySelectorAll("tbody tr")) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
      }
    });
  }
  const open = () => {
    const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    const inner = target?.matches(".card") ? target.querySelector(":scope > details") : null;
    for (let node = inner ?? target; node; node = node.parentElement) {
      if (node instanceof HTMLDetailsElement) node.open = true;
    }
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      details.dataset.printed = "";
    }
  });
  addEventListener("afterprint", () => {
    for (const details of document.querySelectorAll("details[data-printed]")) {
      details.open = false;
      delete details.dataset.printed;
    }
  });
})();
