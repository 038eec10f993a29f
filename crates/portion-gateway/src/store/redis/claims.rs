//! Claims of snapshots: one instance at a time replaces a list that grows.
//!
//! A claim is a key with its owner that expires. A snapshot is replaced by renaming a hash that lives shorter than the
//! claim that was renewed after it was written, so it is never put in place under a claim that has ended.

use std::time::Duration;

use redis::{Pipeline, pipe};

use super::failure::{Failure, Result};
use super::names::SnapshotNames;
use super::operations::{Shared, millis, read, use_time};
use crate::store::{CLAIM_TIME, Fields, OwnerId, SnapshotKey};

/// Time to live of a hash that waits to replace another. It is shorter than [`CLAIM_TIME`].
const DRAFT_TTL: Duration = Duration::from_secs(3);

impl Shared {
    /// Claims a snapshot, or renews the claim. Returns false if another owner has it.
    pub(crate) async fn claim(&self, key: SnapshotKey, owner: OwnerId) -> Result<bool> {
        match self.stored_names(key).await? {
            Some(names) => self.claim_names(&names, owner).await,
            None => Ok(true),
        }
    }

    /// Gives up a claim, if the owner has it.
    pub(crate) async fn release(&self, key: SnapshotKey, owner: OwnerId) -> Result<()> {
        let Some(names) = self.stored_names(key).await? else { return Ok(()) };
        let mut commands = pipe();
        commands.cmd("GET").arg(&names.claim);
        if self.is_owner(&commands, owner).await? {
            let mut commands = pipe();
            commands.cmd("UNLINK").arg(&names.claim);
            self.keeper.run(&commands).await?;
        }
        Ok(())
    }

    /// Replaces a snapshot under a claim. Returns false if another owner has it, or the claim may have ended.
    pub(crate) async fn replace(&self, key: SnapshotKey, owner: OwnerId, fields: Fields) -> Result<bool> {
        let Some(names) = self.stored_names(key).await? else { return Ok(true) };
        let bytes = fields.iter().map(|(_, field)| field.len()).sum();
        let draft = names.draft(use_time());
        let replaced = self.replace_by(&names, &draft, owner, fields).await;
        if replaced != Ok(true) {
            self.give_up(&names, &draft, bytes, replaced.as_ref().err()).await;
        }
        replaced
    }

    async fn replace_by(
        &self,
        names: &SnapshotNames,
        draft: &str,
        owner: OwnerId,
        fields: Fields,
    ) -> Result<bool> {
        // The claim is renewed when all is written, because that may take longer than it holds.
        if !self.claim_names(names, owner).await? {
            return Ok(false);
        }
        let header = self.write_draft(names, draft, fields, DRAFT_TTL).await?;
        if !self.claim_names(names, owner).await? {
            return Ok(false);
        }
        match self.put_in_place(names, draft, header).await {
            Ok(()) => Ok(true),
            // It took too long, or a repeated command has found its work done.
            Err(failure) if failure.is_missing_key() => Err(Failure::TimedOut),
            Err(failure) => Err(failure),
        }
    }

    async fn claim_names(&self, names: &SnapshotNames, owner: OwnerId) -> Result<bool> {
        let time = millis(CLAIM_TIME);
        let mut commands = pipe();
        commands.atomic();
        commands.cmd("SET").arg(&names.claim).arg(&owner[..]).arg("NX").arg("PX").arg(time);
        commands.cmd("GET").arg(&names.claim);
        if !self.is_owner(&commands, owner).await? {
            return Ok(false);
        }
        // If it ended just now, another owner may have it, and has it for longer.
        let mut commands = pipe();
        commands.atomic();
        commands.cmd("PEXPIRE").arg(&names.claim).arg(time);
        commands.cmd("GET").arg(&names.claim);
        self.is_owner(&commands, owner).await
    }

    /// Runs commands of which the last one reads the owner of a claim. Returns true if it is this one.
    async fn is_owner(&self, commands: &Pipeline, owner: OwnerId) -> Result<bool> {
        let holder: Option<Vec<u8>> = read(self.keeper.run(commands).await?.into_iter().last())?;
        Ok(holder.as_deref() == Some(&owner[..]))
    }
}
