//! Cursors that were issued lately, by caller, to name the one that a mistyped cursor probably means.
//!
//! Only cursors of the same caller are compared, and only where the scope belongs to one caller. Without credentials
//! and session all callers share a scope, and a cursor is a bearer secret: there nothing is recorded.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use portion_core::cursor::{CursorToken, MAX_CURSOR_CHARS, Scope};
use portion_text::names::closest_within;

use crate::call::Caller;

/// Cursors kept for each scope.
const CURSORS_PER_SCOPE: usize = 64;
/// Scopes with recorded cursors.
const MAX_SCOPES: usize = 256;
/// Edits that a mistyped cursor may have.
const MAX_EDITS: usize = 2;

/// Cursors issued lately.
#[derive(Default)]
pub(crate) struct IssuedCursors(Mutex<Issued>);

#[derive(Default)]
struct Issued {
    by_scope: HashMap<Scope, ScopeCursors>,
    /// Counts records; orders scopes by their last use.
    tick: u64,
}

#[derive(Default)]
struct ScopeCursors {
    cursors: VecDeque<CursorToken>,
    last_use: u64,
}

impl IssuedCursors {
    /// Records cursors of a reply.
    pub(crate) fn record<'a>(&self, caller: &Caller, cursors: impl IntoIterator<Item = &'a CursorToken>) {
        if !caller.owns_scope {
            return;
        }
        let mut issued = self.0.lock();
        issued.tick += 1;
        let tick = issued.tick;
        if issued.by_scope.len() >= MAX_SCOPES && !issued.by_scope.contains_key(&caller.scope) {
            let oldest = issued.by_scope.iter().min_by_key(|(_, of)| of.last_use).map(|(scope, _)| *scope);
            oldest.and_then(|scope| issued.by_scope.remove(&scope));
        }
        let of_scope = issued.by_scope.entry(caller.scope).or_default();
        of_scope.last_use = tick;
        for cursor in cursors {
            of_scope.cursors.retain(|earlier| earlier != cursor);
            if of_scope.cursors.len() >= CURSORS_PER_SCOPE {
                of_scope.cursors.pop_front();
            }
            of_scope.cursors.push_back(cursor.clone());
        }
    }

    /// Returns the cursor of this caller that a mistyped one probably means: within two edits.
    pub(crate) fn nearest(&self, caller: &Caller, given: &str) -> Option<CursorToken> {
        let given = given.trim();
        if !caller.owns_scope || given.len() > MAX_CURSOR_CHARS + MAX_EDITS {
            return None;
        }
        let issued = self.0.lock();
        let cursors = &issued.by_scope.get(&caller.scope)?.cursors;
        let nearest = closest_within(given, cursors.iter().map(CursorToken::as_str), MAX_EDITS)?;
        cursors.iter().find(|cursor| cursor.as_str() == nearest).cloned()
    }
}
