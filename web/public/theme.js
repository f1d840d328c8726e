// Before anything is drawn: the colours that were chosen, so that nothing flashes.
(() => {
  const theme = localStorage.getItem("ringrift-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
