import logging
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from core.errors import InputError, MissingPackageError
from core.settings import ENCODER_MODEL
from core.similarity import encoder as module
from core.similarity.cache import EmbeddingCache
from core.similarity.encoder import Encoder, SentenceModel


@pytest.fixture
def store(tmp_path):
    return EmbeddingCache(tmp_path / "cache" / "embeddings.sqlite")


def test_what_is_cached_is_not_encoded_again(store, stub):
    first = Encoder(stub, store).encode(["b", "a", "b"])
    assert stub.asked == [["a", "b"]] and first.dtype == np.float32 and np.array_equal(first[0], first[2])
    again = Encoder(stub, store).encode(["a", "b", "c"])
    assert stub.asked[1:] == [["c"]]
    assert np.array_equal(again[:2], first[[1, 0]])


def test_two_models_never_mix(store, stub_class):
    one, two = stub_class("m@1"), stub_class("m@2")
    a = Encoder(one, store).encode(["x"])
    b = Encoder(two, store).encode(["x"])
    assert two.asked == [["x"]] and not np.array_equal(a, b)
    assert np.array_equal(Encoder(stub_class("m@1"), store).encode(["x"]), a)


def test_progress_counts_texts_and_batches_are_kept_as_they_come(store, stub):
    said = []
    texts = [f"{i:04d}" for i in range(1_100)]
    Encoder(stub, store).encode(texts[:100])
    with pytest.raises(KeyboardInterrupt):
        Encoder(_Stopped(stub, after=1), store).encode(texts)
    Encoder(stub, store).encode(texts, lambda done, total: said.append((done, total)))
    assert said == [(612, 1_100), (1_100, 1_100)]
    assert Encoder(stub, store).encode([]).shape == (0, 0)


class _Stopped:
    def __init__(self, model, after):
        self.model, self.id, self.left = model, model.id, after

    def embed(self, texts):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return self.model.embed(texts)


@pytest.mark.parametrize("junk", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 4_096])
def test_a_damaged_cache_file_is_begun_anew(store, stub, caplog, junk):
    store.path.parent.mkdir()
    store.path.write_bytes(junk)
    with caplog.at_level(logging.WARNING):
        vectors = Encoder(stub, store).encode(["a"])
    assert "damaged" in caplog.text and np.isfinite(vectors).all()
    Encoder(stub, store).encode(["a"])
    assert len(stub.asked) == 1


@pytest.mark.parametrize("blob", [b"", b"123", np.zeros(32, np.float32).tobytes(), np.full(32, np.nan, np.float32).tobytes(), "text", None])
def test_a_damaged_entry_counts_as_missing(store, stub, blob):
    good = Encoder(stub, store).encode(["a"])
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA ignore_check_constraints=1")
        db.execute("UPDATE embeddings SET vector = ?", [blob if blob is not None else 7])
    db.close()
    assert np.array_equal(Encoder(stub, store).encode(["a"]), good)
    assert len(stub.asked) == 2


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, stub, caplog):
    (tmp_path / "cache").write_text("a file where the folder should be")
    blocked = Encoder(stub, EmbeddingCache(tmp_path / "cache" / "embeddings.sqlite"))
    with caplog.at_level(logging.WARNING):
        assert blocked.encode(["a"]).shape == (1, 32)
    assert "cannot be used now" in caplog.text


def test_two_processes_share_one_file(store):
    code = """
import sys, numpy as np
from pathlib import Path
from core.similarity.cache import EmbeddingCache
who, path = sys.argv[1:]
store = EmbeddingCache(Path(path))
for i in range(60):
    v = np.zeros(8, np.float32); v[i % 8] = 1
    store.put("m", {f"{who} {i}": v, f"both {i}": v})
    assert len(store.get("m", [f"{who} {i}", f"both {i}"])) == 2
"""
    both = [
        subprocess.Popen([sys.executable, "-c", code, who, str(store.path)], stderr=subprocess.PIPE, text=True) for who in ("left", "right")
    ]
    assert [(p.communicate(timeout=120)[1], p.returncode) for p in both] == [("", 0), ("", 0)]
    assert len(store.get("m", [f"{w} {i}" for w in ("left", "right", "both") for i in range(60)])) == 180


def test_without_sentence_transformers_the_error_says_what_to_do(settings, monkeypatch):
    monkeypatch.setattr(module, "installed", lambda: False)
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements\.txt") as e:
        Encoder.from_settings(settings)
    assert "exact works without it" in str(e.value)


def test_the_id_of_a_local_model_follows_its_weights_and_hides_its_path(tmp_path):
    ids = []
    for i, weights in enumerate((b"one", b"two", b"one")):
        folder = tmp_path / str(i) / "mini"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(weights)
        (folder / "config.json").write_text("{}")
        ids.append(SentenceModel(str(folder)).id)
    assert ids[0] == ids[2] != ids[1]
    assert ids[0].startswith("mini@") and str(tmp_path) not in ids[0]


@pytest.mark.encoder
@pytest.mark.skipif(not module.installed(), reason="sentence-transformers is not installed")
def test_a_folder_without_a_model_is_an_error_that_helps(tmp_path):
    with pytest.raises(InputError, match="ODDYSSEY_ENCODER"):
        SentenceModel(str(tmp_path)).embed(["a"])


def test_the_hub_is_asked_for_nothing_while_weights_are_local(monkeypatch):
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub comes with sentence-transformers").constants
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", False)
    with module._hub_offline(True):
        assert hub.HF_HUB_OFFLINE is True
    assert hub.HF_HUB_OFFLINE is False and "HF_HUB_OFFLINE" not in module.os.environ
    with module._hub_offline(False):
        assert hub.HF_HUB_OFFLINE is False


def test_the_default_model_is_known_by_its_name_wherever_its_weights_lie():
    if SentenceModel().folder is None:
        pytest.skip(f"the package {module.OFFLINE_PACKAGE} is not installed")
    assert SentenceModel().id.startswith(f"{ENCODER_MODEL}@")


@pytest.mark.encoder
@pytest.mark.skipif(not module.installed() or SentenceModel().folder is None, reason="needs sentence-transformers and the packaged weights")
def test_a_vector_depends_on_its_text_alone():
    model = SentenceModel()
    texts = ["time: night", "weather visibility: foggy, time: day, road type: intersection", "", "word " * 400]
    together = model.embed(texts)
    assert together.shape == (4, 384) and together.dtype == np.float32
    assert np.abs(np.linalg.norm(together, axis=1) - 1).max() < 1e-5
    for company in (texts[::-1], [*texts, "sky: clear"], [*texts, *texts[:2]]):
        again = dict(zip(company, model.embed(company), strict=True))
        assert all(np.array_equal(again[t], v) for t, v in zip(texts, together, strict=True))
