// Lets the part of a page that changes go on by itself. Without it, the page is as of when it was loaded.
"use strict";
const part = document.getElementById("live");
if (part) {
  const gone = document.createElement("p");
  gone.className = "trouble";
  gone.setAttribute("role", "alert");
  gone.textContent = "cotter dashboard does not answer: what is shown is as of then.";
  const source = new EventSource(part.dataset.from);
  source.onmessage = (event) => {
    // Whoever uses the keyboard stays at the link that has the focus.
    const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    part.innerHTML = event.data;
    gone.remove();
    if (focused !== null) {
      [...part.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
    }
  };
  source.onerror = () => part.before(gone);
}
