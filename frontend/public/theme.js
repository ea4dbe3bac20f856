// Runs before the first paint, so that no wrong theme flashes. The page's settings write the same keys.
(() => {
  try {
    const theme = localStorage.getItem("starloom.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    const density = localStorage.getItem("starloom.density");
    if (density === "compact") document.documentElement.dataset.density = density;
  } catch {
    // Storage may be off; the system's theme is right then.
  }
})();
