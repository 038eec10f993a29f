//! The commands of each operation.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use redis::{Pipeline, Value, pipe};
use tokio::time::sleep;

use super::failure::{Failure, Result};
use super::keeper::Keeper;
use super::names::{KeyNames, SnapshotNames};
use crate::call::ReuseKey;
use crate::store::{FieldName, Fields, SnapshotKey, StoreReadError};

/// Largest number of views of a snapshot that were added later.
const MAX_VIEWS: i64 = 64;
/// Time for which the header, and the id for equal calls, outlive a snapshot.
const HEADER_TTL: Duration = Duration::from_hours(1);
/// Bytes of fields that are written in one transaction, unless a single field is larger.
const WRITE_BATCH_BYTES: usize = 1 << 20;
/// Time for which a snapshot counts as being replaced, if the process that does it is gone. Replacing takes a few commands.
const REPLACEMENT_TTL: Duration = Duration::from_secs(3);
/// Time after which a view that was added to a snapshot that is being replaced is added again.
const REPLACEMENT_WAIT: Duration = Duration::from_millis(10);
/// Fields that are read in one round trip: 2 MiB of blocks.
const READ_BATCH_FIELDS: usize = 32;

/// Values of fields, in their order.
type FieldValues = Vec<Option<Vec<u8>>>;

/// Connection, names of keys and time to live, shared by the operations of a store.
pub(crate) struct Shared {
    pub(crate) keeper: Arc<Keeper>,
    /// Names for new keys first.
    pub(crate) names: Vec<KeyNames>,
    pub(crate) ttl: Duration,
}

impl Shared {
    fn ttl_ms(&self) -> u64 {
        millis(self.ttl)
    }

    /// Returns the time to live of small keys that outlive a snapshot.
    fn outliving_ms(&self) -> u64 {
        millis(self.ttl + HEADER_TTL)
    }

    /// Writes a hash aside, and puts it in place with the header at last: until then nobody finds the snapshot. A growing
    /// list is written again under the same id, and keeps the views that were added.
    pub(crate) async fn put(&self, names: &SnapshotNames, draft: &str, fields: Fields) -> Result<()> {
        let header = self.write_draft(names, draft, fields, self.ttl).await?;
        match self.put_in_place(names, draft, header).await {
            // The answer was lost with the connection, and the command was repeated.
            Err(failure) if failure.is_missing_key() && self.has_meta(names).await? => Ok(()),
            outcome => outcome,
        }
    }

    /// Writes a hash aside, and returns the header among its fields.
    pub(crate) async fn write_draft(
        &self,
        names: &SnapshotNames,
        draft: &str,
        fields: Fields,
        ttl: Duration,
    ) -> Result<Option<Vec<u8>>> {
        let mut commands = pipe();
        commands.atomic();
        let (mut bytes, mut header, field_count) = (0, None, fields.len());
        for (name, field) in fields {
            bytes += field.len();
            commands.cmd("HSET").arg(draft).arg(name.to_string()).arg(&field);
            if name == FieldName::Header {
                header = Some(field);
            }
            if bytes >= WRITE_BATCH_BYTES {
                self.expire(&mut commands, draft);
                self.keeper.run(&commands).await?;
                commands = pipe();
                commands.atomic();
                bytes = 0;
            }
        }
        for (name, field) in self.begin_replacement(names).await? {
            commands.cmd("HSETNX").arg(draft).arg(name).arg(field);
        }
        commands.cmd("PEXPIRE").arg(draft).arg(millis(ttl));
        commands.cmd("HLEN").arg(draft);
        let written: usize = read(self.keeper.run(&commands).await?.into_iter().last())?;
        // A server that was restarted meanwhile has lost the earlier fields.
        if written < field_count {
            return Err(Failure::Disconnected("it was restarted".into()));
        }
        Ok(header)
    }

    /// Puts a hash in the place of a snapshot.
    pub(crate) async fn put_in_place(
        &self,
        names: &SnapshotNames,
        draft: &str,
        header: Option<Vec<u8>>,
    ) -> Result<()> {
        let mut commands = pipe();
        commands.atomic();
        if let Some(header) = header {
            commands.cmd("SET").arg(&names.header).arg(header).arg("PX").arg(self.outliving_ms());
        }
        commands.cmd("RENAME").arg(draft).arg(&names.fields);
        commands.cmd("UNLINK").arg(&names.replacing).arg(&names.refused);
        self.expire(&mut commands, &names.fields);
        self.keeper.run(&commands).await.map(drop)
    }

    async fn has_meta(&self, names: &SnapshotNames) -> Result<bool> {
        let mut commands = pipe();
        commands.cmd("HEXISTS").arg(&names.fields).arg(FieldName::Meta.to_string());
        read(self.keeper.run(&commands).await?.into_iter().last())
    }

    /// Returns the fields of views that were added to a snapshot. Those added from now on are added again when it is
    /// replaced.
    async fn begin_replacement(&self, names: &SnapshotNames) -> Result<Vec<(String, Vec<u8>)>> {
        let mut commands = pipe();
        commands.cmd("SET").arg(&names.replacing).arg(1).arg("PX").arg(millis(REPLACEMENT_TTL));
        commands.cmd("ZRANGE").arg(&names.views).arg(0).arg(-1);
        let added: Vec<String> = read(self.keeper.run(&commands).await?.into_iter().last())?;
        if added.is_empty() {
            return Ok(Vec::new());
        }
        let mut commands = pipe();
        commands.cmd("HMGET").arg(&names.fields).arg(&added);
        let fields: Vec<Option<Vec<u8>>> = read(self.keeper.run(&commands).await?.into_iter().last())?;
        Ok(added.into_iter().zip(fields).filter_map(|(name, field)| Some((name, field?))).collect())
    }

    /// Returns the names under which a snapshot is stored; those of new keys if it is not.
    pub(crate) async fn stored_names(&self, key: SnapshotKey) -> Result<Option<SnapshotNames>> {
        if self.names.len() > 1 {
            for names in &self.names {
                let names = names.snapshot(key);
                if self.has_meta(&names).await? {
                    return Ok(Some(names));
                }
            }
        }
        Ok(self.names.first().map(|names| names.snapshot(key)))
    }

    /// Removes what was written of a snapshot of so many bytes, if the store still answers. Otherwise it expires. A
    /// snapshot that was refused is marked, so that other instances know that one may still have it.
    pub(crate) async fn give_up(
        &self,
        names: &SnapshotNames,
        draft: &str,
        bytes: usize,
        failure: Option<&Failure>,
    ) {
        let mut commands = pipe();
        commands.cmd("UNLINK").arg(draft);
        if let Some(failure) = failure.filter(|failure| failure.refuses_writes()) {
            self.keeper.report_refused_write(draft.to_owned(), bytes, failure);
            commands.cmd("SET").arg(&names.refused).arg(1).arg("PX").arg(self.ttl_ms());
        }
        let _ = self.keeper.run(&commands).await;
    }

    fn expire(&self, commands: &mut Pipeline, key: &str) {
        commands.cmd("PEXPIRE").arg(key).arg(self.ttl_ms());
    }

    /// Returns false if the snapshot is not there.
    pub(crate) async fn put_view(&self, key: SnapshotKey, view: ViewId, bytes: &[u8]) -> Result<bool> {
        for names in &self.names {
            let names = names.snapshot(key);
            if !self.has_meta(&names).await? {
                continue;
            }
            let field = FieldName::View(view).to_string();
            let mut commands = pipe();
            commands.atomic();
            commands.cmd("HSET").arg(&names.fields).arg(&field).arg(bytes);
            commands.cmd("ZADD").arg(&names.views).arg(use_time()).arg(&field);
            self.expire(&mut commands, &names.fields);
            self.expire(&mut commands, &names.views);
            commands.cmd("EXISTS").arg(&names.replacing);
            while is_one(self.keeper.run(&commands).await?.last()) {
                sleep(REPLACEMENT_WAIT).await;
            }
            self.drop_oldest_views(&names).await?;
            return Ok(true);
        }
        Ok(false)
    }

    async fn drop_oldest_views(&self, names: &SnapshotNames) -> Result<()> {
        let mut commands = pipe();
        commands.cmd("ZRANGE").arg(&names.views).arg(0).arg(-1 - MAX_VIEWS);
        let oldest: Vec<String> = read(self.keeper.run(&commands).await?.into_iter().last())?;
        if oldest.is_empty() {
            return Ok(());
        }
        let mut commands = pipe();
        commands.atomic();
        commands.cmd("HDEL").arg(&names.fields).arg(&oldest);
        commands.cmd("ZREM").arg(&names.views).arg(&oldest);
        self.keeper.run(&commands).await.map(drop)
    }

    pub(crate) async fn get(
        &self,
        key: SnapshotKey,
        fields: &[FieldName],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreReadError> {
        let (first, rest) = fields.split_at(fields.len().min(READ_BATCH_FIELDS));
        let mut found = self.find(key, first).await?.ok_or(StoreReadError::Unknown);
        if found.is_err() {
            found = match self.gone(key).await? {
                // Fields and header are written at once, perhaps since the look at the fields.
                gone @ StoreReadError::SnapshotGone { .. } => self.find(key, first).await?.ok_or(gone),
                other => Err(other),
            };
        }
        let (names, mut values) = found?;
        for batch in rest.chunks(READ_BATCH_FIELDS) {
            let mut commands = pipe();
            read_fields(&mut commands, &names, batch);
            let answers = self.keeper.run(&commands).await?;
            values.extend(read::<Vec<Option<Vec<u8>>>>(answers.into_iter().next())?);
        }
        Ok(values)
    }

    /// Finds a snapshot under the names of any secret, and reads its first fields.
    async fn find(
        &self,
        key: SnapshotKey,
        fields: &[FieldName],
    ) -> Result<Option<(SnapshotNames, FieldValues)>> {
        for names in &self.names {
            let names = names.snapshot(key);
            if let Some(values) = self.read_first(&names, fields).await? {
                return Ok(Some((names, values)));
            }
        }
        Ok(None)
    }

    /// Reads fields, and restarts the time to live. Returns `None` if there is no such snapshot.
    async fn read_first(&self, names: &SnapshotNames, fields: &[FieldName]) -> Result<Option<FieldValues>> {
        let mut commands = pipe();
        read_fields(&mut commands, names, fields);
        // The meta is written last.
        commands.cmd("HEXISTS").arg(&names.fields).arg(FieldName::Meta.to_string());
        // Replicas refuse the rest, and can be read all the same.
        commands.ignore_errors();
        self.use_again(&mut commands, names);
        for field in fields.iter().filter(|field| matches!(field, FieldName::View(_))) {
            commands.cmd("ZADD").arg(&names.views).arg("XX").arg(use_time()).arg(field.to_string());
        }
        let mut answers = self.keeper.run(&commands).await?.into_iter();
        let (values, exists) = (answers.next(), answers.next());
        let values = read(values)?;
        Ok(is_one(exists.as_ref()).then_some(values))
    }

    /// Restarts the time to live of all keys of a snapshot.
    fn use_again(&self, commands: &mut Pipeline, names: &SnapshotNames) {
        self.expire(commands, &names.fields);
        self.expire(commands, &names.views);
        commands.cmd("PEXPIRE").arg(&names.header).arg(self.outliving_ms());
    }

    pub(crate) async fn touch(&self, key: SnapshotKey) -> Result<(), StoreReadError> {
        for names in &self.names {
            let names = names.snapshot(key);
            let mut commands = pipe();
            self.use_again(&mut commands, &names);
            if is_one(self.keeper.run(&commands).await?.first()) {
                return Ok(());
            }
        }
        Err(StoreReadError::Unknown)
    }

    /// Returns the error for a snapshot that is not there: it was refused, is gone and its header is still known, or is
    /// unknown.
    async fn gone(&self, key: SnapshotKey) -> Result<StoreReadError> {
        for names in &self.names {
            let names = names.snapshot(key);
            let mut commands = pipe();
            commands.cmd("EXISTS").arg(&names.refused);
            commands.cmd("GET").arg(&names.header);
            let mut answers = self.keeper.run(&commands).await?.into_iter();
            if is_one(answers.next().as_ref()) {
                return Ok(StoreReadError::Unreachable("it has refused the result".into()));
            }
            if let Some(header) = read::<Option<Vec<u8>>>(answers.next())? {
                return Ok(StoreReadError::SnapshotGone { header });
            }
        }
        Ok(StoreReadError::Unknown)
    }

    pub(crate) async fn set_reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
        id: Option<SnapshotId>,
    ) -> Result<()> {
        for (at, names) in self.names.iter().enumerate() {
            let (name, mut commands) = (names.reuse(scope, reuse), pipe());
            match id.filter(|_| at == 0) {
                Some(id) => commands.cmd("SET").arg(name).arg(&id[..]).arg("PX").arg(self.outliving_ms()),
                None => commands.cmd("UNLINK").arg(name),
            };
            self.keeper.run(&commands).await?;
        }
        Ok(())
    }

    pub(crate) async fn reusable(&self, scope: Scope, reuse: ReuseKey) -> Result<Option<SnapshotId>> {
        for names in &self.names {
            let mut commands = pipe();
            commands.cmd("GET").arg(names.reuse(scope, reuse));
            let answers = self.keeper.run(&commands).await?;
            if let Some(id) = read::<Option<Vec<u8>>>(answers.into_iter().next())? {
                return Ok(SnapshotId::try_from(id).ok());
            }
        }
        Ok(None)
    }
}

fn read_fields(commands: &mut Pipeline, names: &SnapshotNames, fields: &[FieldName]) {
    let command = commands.cmd("HMGET").arg(&names.fields);
    for field in fields {
        command.arg(field.to_string());
    }
}

/// Converts an answer.
pub(crate) fn read<T: redis::FromRedisValue>(answer: Option<Value>) -> Result<T> {
    let value = answer.unwrap_or(Value::Nil).extract_error()?;
    T::from_redis_value(value).map_err(|error| redis::RedisError::from(error).into())
}

fn is_one(answer: Option<&Value>) -> bool {
    answer == Some(&Value::Int(1))
}

/// Returns the time of a use, which orders views.
pub(crate) fn use_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}
