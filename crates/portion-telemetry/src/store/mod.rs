//! The file that holds the records, shared by all processes of a user.

mod error;
mod lock;
mod migrate;
mod open;
mod retain;
mod roll;
mod write;

use rusqlite::Connection;

pub(crate) use error::{Recovery, StoreError};
pub(crate) use lock::with_suffix;
pub(crate) use migrate::{FileKind, NEWEST, file_kind};
pub(crate) use open::open;
pub(crate) use retain::Keep;

/// The file, open for writing.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    /// Identity of the opened file, to notice that another one took its place.
    identity: Option<open::Identity>,
}

#[cfg(test)]
impl Store {
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}
