"""Operational Design Domains: load, infer, edit, validate, number their slices."""

from core.odd.codec import SliceCodec, SliceSpace
from core.odd.document import built_in, from_document, load_yaml, to_document, to_yaml
from core.odd.infer import infer_odd
from core.odd.model import Codes, Dimension, Odd, Value
from core.odd.text import slice_text, value_text

__all__ = [
    "Codes",
    "Dimension",
    "Odd",
    "SliceCodec",
    "SliceSpace",
    "Value",
    "built_in",
    "from_document",
    "infer_odd",
    "load_yaml",
    "slice_text",
    "to_document",
    "to_yaml",
    "value_text",
]
