import base64
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from kyvsim.jmespath.functions import QueryError
from kyvsim.jmespath.functions.strings import x509_decode

ROWS = Path(__file__).parents[3] / "differential" / "jp_functions.jsonl"


def certificate():
    for line in ROWS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["expr"] == "x509_decode(c).CRLDistributionPoints":
            return row["input"]["c"]
    raise AssertionError


def pem(data, label="CERTIFICATE"):
    return f"-----BEGIN {label}-----\n{base64.b64encode(data).decode()}\n-----END {label}-----\n"


def test_the_first_block_counts():
    found = x509_decode(f"some text\n{certificate()}\n{pem(b'x')}")
    assert found["CRLDistributionPoints"] == ["http://c1.example/a.crl", "http://c2.example"]
    assert found["PublicKey"]["E"] == 65537.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "failed to decode PEM block"),
        (
            "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----",
            "failed to decode PEM block",
        ),
        (pem(b"\x30\x00", "RSA PRIVATE KEY"), "PEM block neither contains a CERTIFICATE"),
        (pem(b""), "x509: malformed certificate"),
        (pem(b"\x30\x03\x02\x01\x00"), "x509: malformed certificate"),
    ],
)
def test_no_certificate(text, problem):
    with pytest.raises(QueryError, match=problem):
        x509_decode(text)


def test_every_truncation_and_every_changed_byte_is_answered_or_refused():
    body = certificate().split("-----")[2]
    data = base64.b64decode(body)
    for size in range(0, len(data), 7):
        with pytest.raises(QueryError):
            x509_decode(pem(data[:size]))
    for at in range(0, len(data), 3):
        changed = data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
        try:
            found = x509_decode(pem(changed))
        except QueryError:
            continue
        assert found["Version"] == 3.0


def test_a_cut_off_block_is_no_certificate():
    with pytest.raises(QueryError, match="failed to decode PEM block"):
        x509_decode(certificate().partition("-----END")[0])


def test_the_library_is_not_loaded_before_it_is_used():
    program = (
        "import sys; from kyvsim.jmespath import compile_query\n"
        "from kyvsim.jmespath.functions import strings\n"
        "print(any(name.startswith('cryptography') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("uri", "fields"),
    [
        ("spiffe://a/b%2Fc?d#e", {"Host": "a", "RawPath": "/b%2Fc", "RawQuery": "d"}),
        # As Go's url.Parse: a path right after the scheme, and a `?` that is not the only one.
        ("file:/a", {"OmitHost": True, "Path": "/a"}),
        ("http://a/b?c?", {"ForceQuery": False, "RawQuery": "c?"}),
        ("http://a/b?", {"ForceQuery": True, "RawQuery": ""}),
    ],
)
def test_urls_are_read_as_go_reads_them(uri, fields):
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([])
    day = datetime(2026, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 7, day, day)
    names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri)])
    signed = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    found = x509_decode(signed.public_bytes(Encoding.PEM).decode())["URIs"][0]
    assert {field: found[field] for field in fields} == fields
