// Sets the stored theme before the first paint. A script of its own, because a strict content policy refuses inline ones.
(() => {
  try {
    const choice = localStorage.getItem('trunkline.theme');
    if (choice === 'light' || choice === 'dark') document.documentElement.dataset.theme = choice;
  } catch {
    // Storage may be closed to the page: the system's theme stands.
  }
})();
