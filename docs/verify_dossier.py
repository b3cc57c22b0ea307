#!/usr/bin/env python3
"""Checks a dossier of `comity dossier` without any of comity's code: sums, chain, content, copies, WARC, signatures.

    python3 verify_dossier.py FILE.zip [--key KEY]

Needs nothing but Python 3.9; for signatures the command `openssl`. What is what: README.txt within. Exit 0 when it holds.
"""

import argparse, base64, collections, hashlib, json, os, subprocess, sys, tempfile, zipfile, zlib

MOST = 1 << 30  # Bytes that a file or a WARC record may inflate to.
faults, notes = collections.Counter(), collections.Counter()

def fault(kind, text):
    faults.update([kind])
    print(f"FAULT {kind}: {text!r}")

sha256 = lambda data: hashlib.sha256(data).hexdigest()

def is_signed(checkpoint):
    """Whether the signature is of the key and the digest; None where that cannot be checked here."""
    parts = {"key": bytes.fromhex("302a300506032b6570032100") + base64.urlsafe_b64decode(checkpoint["key"] + "=")}  # RFC 8410
    parts |= {"text": f"comity-checkpoint/1\n{checkpoint['digest']}".encode(), "sig": base64.urlsafe_b64decode(checkpoint["signature"] + "==")}
    with tempfile.TemporaryDirectory() as folder:
        for name, data in parts.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        command = "openssl pkeyutl -verify -pubin -keyform DER -rawin -inkey key -in text -sigfile sig"
        try:
            return subprocess.run(command.split(), cwd=folder, capture_output=True).returncode == 0
        except FileNotFoundError:
            return None

def check_chain(files, wanted):
    """Makes the links again from the commitments, and holds them against each checkpoint."""
    links, prev, commitments = [], "0" * 64, [line.split(" ")[0] for line in files["chain.txt"].decode().splitlines()]
    for seq, commitment in enumerate(commitments):
        links.append(prev := sha256(seq.to_bytes(8, "big") + bytes.fromhex(prev) + bytes.fromhex(commitment)))
    places, prev, last = [("chain", json.loads(files["chain"]))], "0" * 64, {"lines": 0, "key": None}
    for n, text in enumerate(files.get("checkpoints.jsonl", b"").splitlines()):
        last = json.loads(text)
        if sha256(text.rpartition(b',"digest":')[0]) != last["digest"] or (last["prev"], last["n"]) != (prev, n):
            fault("checkpoint", f"checkpoint {n} was changed, or does not follow the one before")
        holds = is_signed(last) if last["key"] else True
        if holds is False or wanted and last["key"] != wanted:
            fault("signature", f"checkpoint {n} is not signed by {wanted or last['key']}")
        notes["signatures were not checked: the command openssl is not there"] += holds is None
        places += [(f"checkpoint {n}", {"seq": last["lines"] - 1, "link": last["link"]})] if last["lines"] else []
        prev = last["digest"]
    for name, place in places:
        if place["seq"] >= len(links) or links[place["seq"]] != place["link"]:
            fault("cut", f"{name} names line {place['seq']}, which is not there, or another")
    if last["lines"] < len(links):
        (fault if wanted else lambda _, text: notes.update([text]))("unsealed", "lines that no checkpoint covers")
    return commitments, links

def check_records(files, commitments, links):
    bodies = []
    for text in files["records.jsonl"].splitlines():
        line, (before, _, body) = json.loads(text), text.partition(b',"body":')
        if (seq := line["seq"]) >= len(links) or (line["commitment"], line["link"]) != (commitments[seq], links[seq]):
            fault("chain", f"line {seq} is not of this chain")
        if "shown" in line:
            notes["lines are shown in part, without proof of their content"] += 1
        elif sha256(bytes.fromhex(json.loads(before + b"}")["salt"]) + body[:-1]) != line["commitment"]:
            fault("content", f"line {seq} ({line['body']['url']}) is not what was committed to")
        bodies.append((seq, line["commitment"], line["shown"] if "shown" in line else line["body"]))
    return bodies

def warc_records(data):
    """Head and block of each gzip member, by record id."""
    while data:
        member = zlib.decompressobj(31)  # Checks CRC and length.
        content, data = member.decompress(data, MOST), member.unused_data
        head, _, rest = content.partition(b"\r\n\r\n")
        head = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head.decode().split("\r\n"))}
        block = rest[: int(head["content-length"])]
        digest = "sha1:" + base64.b32encode(hashlib.sha1(block).digest()).decode()
        if not member.eof or rest[len(block) :] != b"\r\n\r\n" or head["warc-block-digest"] != digest:
            fault("warc", f"{head['warc-record-id']}: its block is not what its head says")
        yield head["warc-record-id"].strip("<>"), (head, block)

def check_warc(files, bodies):
    """Each line's records are what it says; a file in zstd form is left to readers of that."""
    records = dict(warc_records(files.get("warc/dossier.warc.gz", b"")))
    for seq, commitment, body in bodies:
        for part in filter(None, ((body["warc"] or {}).get(name) for name in ("response", "request"))):
            head, block = records.get(part["id"], ({}, b""))
            notes["WARC records are not here"] += not head
            holds, payload = not head or head["warc-date"] == body["time"]["started"], block.partition(b"\r\n\r\n")[2]
            if not holds or head.get("warc-type") == "response" and sha256(payload) != body["response"]["body_digest"]:
                fault("body", f"line {seq}: another record than the one that it names")
        _, block = records.get(body["record_id"], ({}, b""))
        if block and f"comity-record: sha256:{commitment}\r\n".encode() not in block:
            fault("metadata", f"line {seq}: its metadata record is of another line")

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("file")
parser.add_argument("--key", help="the public key that must have signed every checkpoint")
given = parser.parse_args()
try:
    with zipfile.ZipFile(given.file) as archive:
        files = {one.filename: archive.read(one) for one in archive.infolist() if one.file_size <= MOST}
    sums = {one["path"]: one["sha256"] for one in json.loads(files["dossier.json"])["files"]}
    sums["dossier.json"] = sha256(files["dossier.json"])
    for name in sorted(sums.keys() | files.keys()):
        if name not in files or sums.get(name) != sha256(files[name]):
            fault("sum", f"{name} is not what dossier.json says")
        elif name.startswith("evidence/") and name != "evidence/index.jsonl" and sums[name] != name.rpartition("/")[2]:
            fault("evidence", f"{name} is not what its name says")
    commitments, links = check_chain(files, given.key)
    bodies = check_records(files, commitments, links)
    for digest in {body["robots"]["digest"] for _, _, body in bodies if body["robots"]} - {None}:
        notes["copies are not here"] += f"evidence/{digest[:2]}/{digest}" not in files
    check_warc(files, bodies)
except (KeyError, ValueError, TypeError, OSError, zipfile.BadZipFile, zlib.error) as error:
    fault("unreadable", repr(error))
print("".join(f"NOTE {count} {note}\n" for note, count in notes.items() if count), end="")
print(f"it does not hold: {dict(faults)}" if faults else f"what is there holds: {len(bodies)} of {len(links)} lines")
sys.exit(1 if faults else 0)
