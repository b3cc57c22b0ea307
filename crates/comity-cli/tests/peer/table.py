"""Reads a table of `comity export --parquet` by pyarrow and by DuckDB, and follows each row to its WARC record."""

import gzip
import json
import pathlib
import sys

import duckdb
import pyarrow
import pyarrow.parquet

FILE, WARC = sys.argv[1], pathlib.Path(sys.argv[2])


def plain(row):
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}


def record(row):
    """The head of the one record that lies in these bytes."""
    if row["warc_filename"] is None:
        return None
    with open(WARC / row["warc_filename"], "rb") as warc:
        warc.seek(row["warc_record_offset"])
        member = warc.read(row["warc_record_length"])
    head = gzip.decompress(member).split(b"\r\n\r\n", 1)[0].decode()
    return dict(line.split(": ", 1) for line in head.split("\r\n")[1:])


table = pyarrow.parquet.read_table(FILE)
schema = [[field.name, str(field.type), field.nullable] for field in table.schema]
place = table.schema.get_field_index("fetch_time")
millis = table.column(place).cast(pyarrow.int64())
rows = [plain(row) for row in table.set_column(place, "fetch_time", millis).to_pylist()]

db = duckdb.connect()
db.execute("CREATE VIEW t AS SELECT * REPLACE (epoch_ms(fetch_time) AS fetch_time) FROM read_parquet(?)".replace("?", f"'{FILE}'"))
asked = db.execute("SELECT * FROM t")
names = [column[0] for column in asked.description]
duck = [plain(dict(zip(names, row))) for row in asked.fetchall()]
types = [row[:2] for row in db.execute(f"DESCRIBE SELECT * FROM read_parquet('{FILE}')").fetchall()]
pages = db.execute(
    "SELECT url_host_registered_domain, url_host_name, count(*) FROM t "
    "WHERE subset = 'warc' AND fetch_status = 200 AND content_mime_type = 'text/html' GROUP BY ALL ORDER BY ALL"
).fetchall()
metadata = {key.decode(): value.decode() for key, value in table.schema.metadata.items()} if table.schema.metadata else {}
metadata |= {k.decode(): v.decode() for k, v in (pyarrow.parquet.read_metadata(FILE).metadata or {}).items()}
print(json.dumps({
    "schema": schema, "rows": rows, "same": rows == duck, "types": types, "pages": pages, "metadata": metadata,
    "records": [record(row) for row in rows], "versions": [pyarrow.__version__, duckdb.__version__],
}))
