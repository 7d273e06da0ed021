//! Changes of SQLite databases. The bytes are opened as a file of their own: the database in the workspace is
//! never opened.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::change::Cannot;
use crate::draw::Draw;
use crate::operator::Operator;

/// The name of the file in the scratch folder.
const NAME: &str = "mutant.db";
/// Tables that are looked at.
const MAX_TABLES: u32 = 64;

/// Where in a database something is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A table as a whole.
    Table { table: String },
    /// The row of this number.
    Row { table: String, row: u64 },
    /// A value in it.
    Value { table: String, row: u64, column: String },
}

impl Place {
    pub(crate) fn what(&self, path: &str) -> String {
        match self {
            Self::Table { table } => format!("dropping the table `{table}` of {path}"),
            Self::Row { table, row } => format!("deleting row {row} of `{table}` in {path}"),
            Self::Value { table, row, column } => {
                format!("another `{column}` in row {row} of `{table}` in {path}")
            }
        }
    }
}

/// The places where an operator can be applied; at most `max`, chosen by the draw. None where the bytes are no
/// database that can be read.
pub(crate) fn places(
    operator: Operator,
    bytes: &[u8],
    scratch: &Path,
    draw: &mut Draw,
    max: usize,
) -> Vec<Place> {
    let found = open(bytes, scratch).and_then(|connection| {
        let mut all = Vec::new();
        for table in tables(&connection)? {
            match operator {
                Operator::DropTable => all.push(Place::Table { table }),
                Operator::DropRow => all.extend(rows(&connection, &table, draw)?),
                _ => all.extend(values(&connection, &table, draw)?),
            }
        }
        Ok(all)
    });
    let mut all = found.unwrap_or_default();
    draw.shuffle(&mut all);
    all.truncate(max);
    all
}

/// The database with the change in it.
///
/// # Errors
/// [`Cannot::Database`] where SQLite refuses, such as for a table without row ids.
pub(crate) fn edit(place: &Place, bytes: &[u8], scratch: &Path) -> Result<Vec<u8>, Cannot> {
    let refused = |error: rusqlite::Error| Cannot::Database(error.to_string());
    let connection = open(bytes, scratch).map_err(refused)?;
    let statement = match place {
        Place::Table { table } => format!("DROP TABLE {}", quoted(table)),
        Place::Row { table, row } => {
            let table = quoted(table);
            format!("DELETE FROM {table} WHERE rowid = ({})", nth(&table, *row))
        }
        Place::Value { table, row, column } => {
            let (table, column) = (quoted(table), quoted(column));
            format!(
                "UPDATE {table} SET {column} = CASE typeof({column}) \
                 WHEN 'integer' THEN {column} + 1 WHEN 'real' THEN {column} + 1 \
                 WHEN 'text' THEN {column} || 'x' ELSE 1 END WHERE rowid = ({})",
                nth(&table, *row)
            )
        }
    };
    connection.execute_batch(&statement).map_err(refused)?;
    connection.close().map_err(|(_, error)| refused(error))?;
    std::fs::read(scratch.join(NAME)).map_err(|error| Cannot::Database(error.to_string()))
}

fn open(bytes: &[u8], scratch: &Path) -> rusqlite::Result<Connection> {
    let path = scratch.join(NAME);
    for ending in ["-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(scratch.join(format!("{NAME}{ending}")));
    }
    std::fs::write(&path, bytes).map_err(|_| rusqlite::Error::InvalidPath(path.clone()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags)?;
    // A journal of its own would be a second file, and foreign keys would refuse what is to be broken.
    connection.execute_batch(
        "PRAGMA journal_mode = DELETE; PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = OFF;",
    )?;
    Ok(connection)
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' \
         ESCAPE '\\' ORDER BY name LIMIT ?1",
    )?;
    let names = statement.query_map([MAX_TABLES], |row| row.get(0))?;
    names.collect()
}

fn row_of(connection: &Connection, table: &str, draw: &mut Draw) -> rusqlite::Result<Option<u64>> {
    let count = format!("SELECT count(*) FROM {}", quoted(table));
    let count: i64 = connection.query_row(&count, [], |row| row.get(0))?;
    let count = usize::try_from(count).unwrap_or(0);
    let number = u64::try_from(draw.below(count)).unwrap_or(0).saturating_add(1);
    Ok((count > 0).then_some(number))
}

fn rows(connection: &Connection, table: &str, draw: &mut Draw) -> rusqlite::Result<Option<Place>> {
    let row = row_of(connection, table, draw)?;
    Ok(row.map(|row| Place::Row { table: table.to_owned(), row }))
}

fn values(connection: &Connection, table: &str, draw: &mut Draw) -> rusqlite::Result<Vec<Place>> {
    let Some(row) = row_of(connection, table, draw)? else { return Ok(Vec::new()) };
    let statement = connection.prepare(&format!("SELECT * FROM {} LIMIT 0", quoted(table)))?;
    let value =
        |column: &str| Place::Value { table: table.to_owned(), row, column: column.to_owned() };
    Ok(statement.column_names().map(value).collect())
}

/// The row id of the row of a number, counted from 1.
fn nth(table: &str, row: u64) -> String {
    let offset = row.saturating_sub(1);
    format!("SELECT rowid FROM {table} ORDER BY rowid LIMIT 1 OFFSET {offset}")
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
