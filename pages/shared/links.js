// Links inside the text of a page that lead to another one: followed in this session, without loading the app anew.

export default function ({ setTriggerValue }) {
  const follow = (event) => {
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (event.defaultPrevented || !plain || !event.target.closest) return;
    const row = event.target.closest("tr.od-row");
    const link = event.target.closest("a.od-go") ?? (event.target.closest("a") ? null : row?.querySelector("a.od-go"));
    if (!link || (!event.target.closest("a") && String(getSelection()))) return; // text that is being copied is no click
    event.preventDefault();
    setTriggerValue("go", link.getAttribute("href"));
  };
  document.addEventListener("click", follow);
  return () => document.removeEventListener("click", follow);
}
