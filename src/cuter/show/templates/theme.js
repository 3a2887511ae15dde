// The page is whole without this: it only adds a button for the colours.
(() => {
  const root = document.documentElement, button = document.getElementById("theme"), KEY = "cuter-theme";
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const tell = () => { button.textContent = dark() ? "Light colours" : "Dark colours"; };
  try { const kept = localStorage.getItem(KEY); if (kept === "dark" || kept === "light") root.dataset.theme = kept; } catch { /* not allowed for files */ }
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem(KEY, root.dataset.theme); } catch { /* not allowed for files */ }
    tell();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();
  button.hidden = false;
})();
