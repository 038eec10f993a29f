//! The file with the fields of one snapshot.
//!
//! It begins with a magic number, the scope, and the number of fields with a checksum of their table. The table
//! has the name, offset and length of each field. The fields follow.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use portion_core::cursor::Scope;

use super::super::FieldName;

const MAGIC: [u8; 4] = *b"PSN1";
const HEAD_BYTES: usize = 4 + 32 + 4 + 4;
const ENTRY_BYTES: usize = 1 + 8 + 8 + 8;

/// An open file, with the places of its fields.
pub(super) struct Container {
    file: File,
    table: Vec<Entry>,
}

struct Entry {
    name: [u8; 9],
    offset: u64,
    len: u64,
}

/// Writes a snapshot's fields.
pub(super) fn write(out: &mut impl Write, scope: &Scope, fields: &[(FieldName, Vec<u8>)]) -> io::Result<()> {
    let mut table = Vec::with_capacity(fields.len() * ENTRY_BYTES);
    let mut offset = (HEAD_BYTES + fields.len() * ENTRY_BYTES) as u64;
    for (name, bytes) in fields {
        table.extend_from_slice(&name_bytes(*name));
        table.extend_from_slice(&offset.to_le_bytes());
        table.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        offset += bytes.len() as u64;
    }
    out.write_all(&MAGIC)?;
    out.write_all(scope.as_bytes())?;
    out.write_all(&(fields.len() as u32).to_le_bytes())?;
    out.write_all(&crc32fast::hash(&table).to_le_bytes())?;
    out.write_all(&table)?;
    fields.iter().try_for_each(|(_, bytes)| out.write_all(bytes))
}

impl Container {
    /// Opens the fields of a snapshot of a scope.
    pub(super) fn open(mut file: File, scope: &Scope) -> io::Result<Self> {
        let mut head = [0; HEAD_BYTES];
        file.read_exact(&mut head)?;
        let (magic, rest) = head.split_at(4);
        let (owner, rest) = rest.split_at(32);
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| rest[at + i]));
        let (table_bytes, checksum) = (u64::from(number(0)) * ENTRY_BYTES as u64, number(4));
        let is_theirs = Scope::from_bytes(owner).is_some_and(|owner| owner.constant_time_eq(scope));
        if magic != MAGIC || !is_theirs {
            return Err(invalid());
        }
        let mut bytes = Vec::new();
        (&mut file).take(table_bytes).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != table_bytes || crc32fast::hash(&bytes) != checksum {
            return Err(invalid());
        }
        let table = bytes.chunks_exact(ENTRY_BYTES).map(Entry::read).collect();
        Ok(Self { file, table })
    }

    /// Reads a field; `None` if there is none of that name.
    pub(super) fn read(&mut self, name: FieldName) -> io::Result<Option<Vec<u8>>> {
        let wanted = name_bytes(name);
        let Some(entry) = self.table.iter().find(|entry| entry.name == wanted) else { return Ok(None) };
        let (offset, len) = (entry.offset, entry.len);
        self.file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        (&mut self.file).take(len).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == len { Ok(Some(bytes)) } else { Err(invalid()) }
    }
}

impl Entry {
    fn read(bytes: &[u8]) -> Self {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        Self { name: std::array::from_fn(|i| bytes[i]), offset: number(9), len: number(17) }
    }
}

/// Returns the name of a field as stored: its kind, then its number or id.
fn name_bytes(name: FieldName) -> [u8; 9] {
    let (kind, number) = match name {
        FieldName::Header => (0, [0; 8]),
        FieldName::Meta => (1, [0; 8]),
        FieldName::IndexPiece(index) => (2, u64::from(index).to_le_bytes()),
        FieldName::Block(index) => (3, u64::from(index).to_le_bytes()),
        FieldName::View(id) => (4, std::array::from_fn(|i| id.get(i).copied().unwrap_or(0))),
    };
    let mut bytes = [kind; 9];
    bytes[1..].copy_from_slice(&number);
    bytes
}

/// Returns true if an error says that something else than a whole snapshot is in a file's place.
pub(super) fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, UnexpectedEof};
    matches!(error.kind(), InvalidData | IsADirectory | NotADirectory | UnexpectedEof)
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this is not a snapshot of that scope")
}

#[cfg(test)]
mod tests {
    use std::io::{self, Seek as _, Write as _};

    use portion_core::cursor::Scope;

    use super::{Container, ENTRY_BYTES, HEAD_BYTES, is_damage, write};
    use crate::store::FieldName::{self, Block, Header, IndexPiece, Meta, View};

    fn fields() -> Vec<(FieldName, Vec<u8>)> {
        let names = [
            Header,
            Meta,
            IndexPiece(0),
            IndexPiece(1),
            Block(0),
            Block(1),
            Block(u32::MAX),
            View([0; 5]),
            View([1, 2, 3, 4, 5]),
        ];
        let content = |(number, name): (usize, &FieldName)| (*name, vec![number as u8; number * 3]);
        names.iter().enumerate().map(content).collect()
    }

    fn ada() -> Scope {
        Scope::from_principal("ada")
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, &ada(), &fields()).expect("memory takes everything");
        bytes
    }

    fn open(bytes: &[u8], scope: &Scope) -> io::Result<Container> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        file.rewind()?;
        Container::open(file, scope)
    }

    #[test]
    fn fields_are_read_in_any_order() {
        let mut container = open(&written(), &ada()).expect("it is whole");
        for (name, bytes) in fields().iter().rev().chain(&fields()) {
            assert_eq!(container.read(*name).expect("it is whole").as_ref(), Some(bytes), "{name}");
        }
        for name in [IndexPiece(2), Block(2), View([5; 5])] {
            assert_eq!(container.read(name).expect("it is whole"), None, "{name}");
        }
    }

    #[test]
    fn a_container_of_another_scope_is_none() {
        let opened = open(&written(), &Scope::from_principal("bob"));
        assert!(opened.is_err_and(|error| is_damage(&error)));
    }

    #[test]
    fn a_changed_byte_of_the_head_or_the_table_is_noticed() {
        let written = written();
        for at in 0..HEAD_BYTES + fields().len() * ENTRY_BYTES {
            let mut changed = written.clone();
            changed[at] ^= 1;
            assert!(open(&changed, &ada()).is_err_and(|error| is_damage(&error)), "byte {at}");
        }
        for len in [0, 3, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + ENTRY_BYTES] {
            assert!(open(&written[..len], &ada()).is_err_and(|error| is_damage(&error)), "{len} bytes");
        }
    }

    #[test]
    fn a_field_that_is_cut_off_is_an_error() {
        let written = written();
        let mut container = open(&written[..written.len() - 1], &ada()).expect("the table is whole");
        for (name, bytes) in fields() {
            let read = container.read(name);
            if name == View([1, 2, 3, 4, 5]) {
                assert!(read.is_err_and(|error| is_damage(&error)));
            } else {
                assert_eq!(read.expect("it is whole"), Some(bytes), "{name}");
            }
        }
    }
}
