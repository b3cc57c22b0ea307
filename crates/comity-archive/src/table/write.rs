use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::columns::{Cell, Column, columns, schema};
use super::rows::Row;
use super::{TABLE_SCHEMA, TableReport, TableRows};
use crate::ArchiveError;
use crate::warc::info::SOFTWARE;

/// Rows of a row group, and bytes of its cells (our choice): they are held at once.
const MOST_ROWS: usize = 32_768;
const MOST_BYTES: usize = 64 << 20;

/// A Parquet file under way.
pub(super) struct Table {
    path: PathBuf,
    file: SerializedFileWriter<File>,
    which: TableRows,
    group: Vec<Values>,
    rows: usize,
    bytes: usize,
}

/// The cells of a column in the row group under way.
#[derive(Default)]
struct Values {
    texts: Vec<ByteArray>,
    ints: Vec<i64>,
    /// 1 for a value, 0 for a null.
    levels: Vec<i16>,
}

impl Table {
    pub(super) fn create(path: &Path, which: TableRows) -> Result<Self, ArchiveError> {
        let out = File::create(path).map_err(|e| ArchiveError::io(path, e))?;
        let sorting = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(SOFTWARE.to_owned())
            .set_sorting_columns(Some(vec![sorting]));
        let schema = parse_message_type(&schema(which)).map_err(|e| failed(path, e))?;
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))
            .map_err(|e| failed(path, e))?;
        Ok(Self { path: path.to_owned(), file, which, group: empty(), rows: 0, bytes: 0 })
    }

    pub(super) fn push(&mut self, row: Row) -> Result<(), ArchiveError> {
        for (column, values) in columns().zip(&mut self.group) {
            let cell = (column.of)(&row);
            let is_needed = column.is_required(self.which);
            let pushed = values.push(cell, is_needed, column);
            self.bytes += pushed.map_err(|problem| refused(&self.path, &row, &problem))?;
        }
        self.rows += 1;
        if self.rows >= MOST_ROWS || self.bytes >= MOST_BYTES {
            self.end_group().map_err(|e| failed(&self.path, e))?;
        }
        Ok(())
    }

    /// Writes what is held, and the foot; it is safe when this returns.
    pub(super) fn finish(mut self, report: &TableReport) -> Result<(), ArchiveError> {
        self.end_group().map_err(|e| failed(&self.path, e))?;
        let said = |key: &str, value: String| KeyValue::new(format!("comity.{key}"), value);
        self.file.append_key_value_metadata(said("schema", TABLE_SCHEMA.to_owned()));
        self.file.append_key_value_metadata(said("left_out", report.left_out().to_string()));
        let out = self.file.into_inner().map_err(|e| failed(&self.path, e))?;
        out.sync_all().map_err(|e| ArchiveError::io(&self.path, e))
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for (column, values) in columns().zip(std::mem::replace(&mut self.group, empty())) {
            write_column(&mut group, column, self.which, &values)?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl TableReport {
    /// What is not in the table, by its reason.
    #[must_use]
    pub fn left_out(&self) -> serde_json::Value {
        let Self { rows: _, erased, no_capture, withheld, payload_erased, url_cut, erasures, torn } = self;
        serde_json::json!({
            "erased": erased, "no_capture": no_capture, "withheld": withheld, "payload_erased": payload_erased,
            "url_cut": url_cut, "erasures": erasures, "torn": torn,
        })
    }
}

impl Values {
    /// Gives the bytes that it takes.
    fn push(&mut self, cell: Cell, is_required: bool, column: &Column) -> Result<usize, String> {
        let is_null = matches!(cell, Cell::Null);
        if is_null && is_required {
            return Err(format!("it has no {}", column.name));
        }
        self.levels.push(i16::from(!is_null));
        let bytes = match cell {
            Cell::Null => return Ok(0),
            Cell::Int(value) if column.is_narrow() && i32::try_from(value).is_err() => {
                return Err(format!("{} is {value}, and the column holds 32 bits", column.name));
            }
            Cell::Int(value) => {
                self.ints.push(value);
                return Ok(size_of::<i64>());
            }
            Cell::Text(text) => text.into_bytes(),
            Cell::Bytes(bytes) => bytes,
        };
        let size = size_of::<ByteArray>() + bytes.len();
        self.texts.push(ByteArray::from(bytes));
        Ok(size)
    }
}

fn empty() -> Vec<Values> {
    columns().map(|_| Values::default()).collect()
}

/// What the table cannot say of a row.
fn refused(path: &Path, row: &Row, problem: &str) -> ArchiveError {
    ArchiveError::export(path, format!("record {} of {}: {problem}", row.seq, row.record.url))
}

fn failed(path: &Path, error: ParquetError) -> ArchiveError {
    ArchiveError::io(path, io::Error::other(error))
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, File>,
    column: &Column,
    which: TableRows,
    values: &Values,
) -> Result<(), ParquetError> {
    let unfit = || ParquetError::General(format!("the schema and the column {} differ", column.name));
    let mut writer = group.next_column()?.ok_or_else(unfit)?;
    let levels = (!column.is_required(which)).then_some(&values.levels[..]);
    match writer.untyped() {
        ColumnWriter::ByteArrayColumnWriter(to) => to.write_batch(&values.texts, levels, None)?,
        ColumnWriter::Int32ColumnWriter(to) => {
            let narrow = values.ints.iter().map(|value| i32::try_from(*value).map_err(|_| unfit()));
            to.write_batch(&narrow.collect::<Result<Vec<_>, _>>()?, levels, None)?
        }
        ColumnWriter::Int64ColumnWriter(to) => to.write_batch(&values.ints, levels, None)?,
        _ => return Err(unfit()),
    };
    writer.close()
}
