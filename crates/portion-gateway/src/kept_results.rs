//! Results that are kept for each caller, so that a model finds what it had after its context was shortened.
//!
//! Only results of this process are listed, and only where the scope belongs to one caller: elsewhere a cursor is a bearer
//! secret.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portion_core::cursor::{CursorToken, PartOffset, Scope, SnapshotId};
use portion_core::render::{Portion, PortionKind};
use portion_core::snapshot::{Snapshot, Structure};
use portion_policy::endpoint::Endpoint;
use serde_json::{Map, Value};

use crate::call::Caller;
use crate::store::StoredSnapshot;

/// Results that are listed of each scope.
const RESULTS_PER_SCOPE: usize = 32;
/// Scopes with listed results.
const MAX_SCOPES: usize = 256;
/// Longest arguments that are listed whole, in characters.
const MAX_ARGUMENT_CHARS: usize = 80;

/// Results kept lately, by scope.
#[derive(Default)]
pub(crate) struct KeptResults(Mutex<HashMap<Scope, VecDeque<KeptResult>>>);

/// One result of an upstream.
#[derive(Clone)]
pub(crate) struct KeptResult {
    pub(crate) id: SnapshotId,
    kept_at: Instant,
    /// Share that was served, in percent.
    read: u8,
}

impl KeptResults {
    /// Records a result that is kept now.
    pub(crate) fn record(&self, caller: &Caller, id: SnapshotId, now: Instant) {
        if !caller.owns_scope {
            return;
        }
        let mut by_scope = self.0.lock();
        if by_scope.len() >= MAX_SCOPES && !by_scope.contains_key(&caller.scope) {
            let last_use = |results: &VecDeque<KeptResult>| results.back().map(|last| last.kept_at);
            let oldest =
                by_scope.iter().min_by_key(|(_, results)| last_use(results)).map(|(scope, _)| *scope);
            oldest.and_then(|scope| by_scope.remove(&scope));
        }
        let results = by_scope.entry(caller.scope).or_default();
        if results.len() >= RESULTS_PER_SCOPE {
            results.pop_front();
        }
        results.push_back(KeptResult { id, kept_at: now, read: 0 });
    }

    /// Records what a reply has shown of a result.
    pub(crate) fn record_reply(&self, scope: &Scope, id: SnapshotId, snapshot: &Snapshot, reply: &Portion) {
        let mut by_scope = self.0.lock();
        let results = by_scope.get_mut(scope).into_iter().flatten();
        for result in results.filter(|result| result.id == id) {
            result.read = result.read.max(share_read(snapshot, reply));
        }
    }

    /// Returns the results of a scope, the newest first.
    pub(crate) fn of_scope(&self, scope: &Scope) -> Vec<KeptResult> {
        self.0.lock().get(scope).into_iter().flatten().rev().cloned().collect()
    }
}

impl KeptResult {
    /// Returns the result as it is listed.
    pub(crate) fn to_json(&self, stored: &StoredSnapshot, cursor: &CursorToken, now: Instant) -> Value {
        let mut listed = Map::new();
        listed.insert("cursor".into(), cursor.as_str().into());
        listed.insert("tool".into(), Endpoint::log_name(stored.endpoint.as_deref()).into());
        let arguments = stored.arguments.as_deref().filter(|arguments| *arguments != "{}");
        listed.extend(arguments.map(|arguments| ("arguments".into(), short_arguments(arguments))));
        listed.insert("age".into(), age(now.saturating_duration_since(self.kept_at)).into());
        listed.extend(record_count(&stored.snapshot).map(|(name, count)| (name.into(), count.into())));
        listed.insert("bytes".into(), stored.snapshot.payload_bytes().into());
        listed.insert("read".into(), format!("{} %", self.read).into());
        listed.into()
    }
}

fn short_arguments(arguments: &str) -> Value {
    match arguments.char_indices().nth(MAX_ARGUMENT_CHARS) {
        Some((end, _)) => format!("{}…", &arguments[..end]).into(),
        None => serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into()),
    }
}

fn age(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// Returns the number of records or lines of the main part.
fn record_count(snapshot: &Snapshot) -> Option<(&'static str, usize)> {
    match &snapshot.main_text()?.structure {
        Structure::List(list) => Some(("records", list.len())),
        Structure::Text(index) => Some(("lines", index.line_count())),
        Structure::Object(_) => None,
    }
}

/// Returns the share of a snapshot before the end of a reply, in percent; of a summary, the share that it shows.
fn share_read(snapshot: &Snapshot, reply: &Portion) -> u8 {
    let Some(next) = reply.next_position() else {
        let shown: usize = reply.pieces().iter().map(|piece| piece.body.as_str().len()).sum();
        let share = || shown.saturating_mul(100) / snapshot.payload_bytes().max(1);
        return if reply.kind() == PortionKind::Summary { share().min(99) as u8 } else { 100 };
    };
    let part_bytes =
        |part: &portion_core::snapshot::Part| part.indexed_text().map_or(0, |text| text.text.len());
    let earlier: usize = snapshot.parts().iter().take(usize::from(next.part)).map(part_bytes).sum();
    let (done, all) = match next.offset {
        PartOffset::Item(item) if earlier == 0 => {
            (item as usize, reply.total_count().unwrap_or_default().max(item as usize))
        }
        PartOffset::Item(_) => (earlier, snapshot.payload_bytes()),
        PartOffset::Byte(byte) => (earlier + byte as usize, snapshot.payload_bytes()),
    };
    (done.saturating_mul(100) / all.max(1)).min(99) as u8
}
