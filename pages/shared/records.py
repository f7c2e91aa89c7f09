"""What can be done to anything that is saved under a name: rename, delete, take the deletion back, restore."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.errors import OddysseyError
from core.storage.named import Named, NamedRecords
from pages.shared import shell
from pages.shared.markup import Text, fill, strong


@dataclass(frozen=True)
class RecordList:
    """The buttons of one kind of records.

    Attributes:
        records: Where they lie.
        scope: Begins the keys of the session state, such as "seed".
        suffix: Ends the widget keys of this kind, "" or such as "-campaign".
        in_bin: What is said of a record that was just deleted, after its name.
    """

    records: NamedRecords[Any]
    scope: str
    suffix: str = ""
    in_bin: str = "lies in the bin."

    def show_error(self) -> None:
        """Tell once what the last action came to grief over."""
        error = st.session_state.pop(f"{self.scope}.error", None)
        if error is not None:
            shell.error_card(error)

    def do(self, action: Callable[[], object]) -> None:
        """Do something and draw the page anew; an error is told then."""
        try:
            action()
        except OddysseyError as e:
            st.session_state[f"{self.scope}.error"] = e
        st.rerun()

    def rename_and_delete(self, x: Named) -> None:
        """The two buttons of a record."""
        with st.popover("Rename"):
            name = st.text_input("New name", x.name, key=f"{self._kind}name-{x.id}", max_chars=120)
            if st.button("Rename", key=f"rename{self.suffix}-{x.id}"):
                self.do(lambda: self.records.rename(x.id, name))
        if st.button("Delete", key=f"delete{self.suffix}-{x.id}", help="Puts it into the bin"):
            st.session_state[self._deleted] = x.id
            self.do(lambda: self.records.delete(x.id))

    def undo(self) -> None:
        """Take back the last deletion of this session."""
        deleted = st.session_state.get(self._deleted)
        if not deleted:
            return
        x = self.records.get(deleted)
        if not x.deleted:
            del st.session_state[self._deleted]
            return
        with st.container(horizontal=True, vertical_alignment="center", key=f"od-undo{self.suffix}"):
            shell.note(fill("{name} {what}", name=strong(x.name), what=self.in_bin))
            if st.button("Undo", key=f"undo-delete{self.suffix}"):
                del st.session_state[self._deleted]
                self.do(lambda: self.records.restore(x.id))

    def bin(self, line: Callable[[Any], Text]) -> None:
        """The deleted records, which can all be restored.

        Args:
            line: What is said of one.
        """
        gone = [x for x in self.records.list(include_deleted=True) if x.deleted]
        if not gone:
            return
        with st.expander(f"Bin ({len(gone)})"):
            for x in gone:
                with st.container(horizontal=True, vertical_alignment="center"):
                    shell.note(line(x))
                    if st.button("Restore", key=f"restore{self.suffix}-{x.id}"):
                        name = self.records.free_name(x.name)
                        self.do(lambda x=x, name=name: self.records.restore(x.id, name))

    @property
    def _deleted(self) -> str:
        return f"{self.scope}.deleted"

    @property
    def _kind(self) -> str:
        return f"{self.suffix[1:]}-" if self.suffix else ""
