//! The file that records are kept in, shared by all processes of a user.

mod aside;
mod lock;
mod migrate;
mod open;
mod retain;
mod roll;
mod trouble;
mod write;

use rusqlite::Connection;

pub(crate) use lock::with_suffix;
pub(crate) use migrate::{NEWEST, Standing, standing};
pub(crate) use open::open;
pub(crate) use retain::Keep;
pub(crate) use trouble::{Cure, Trouble};

/// The file, open for writing.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    /// Which file was opened: another one may have taken its place since.
    identity: Option<open::Identity>,
}

#[cfg(test)]
impl Store {
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}
