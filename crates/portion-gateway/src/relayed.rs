//! Replies that are relayed as they come, and what shaping would have made of them.
//!
//! What is to be hidden is hidden here too. What would have been is found out beside, when the reply is on its way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::event::{Outcome, Shadow};
use portion_core::payload::{Content, Payload};
use portion_core::redact::Redact;
use portion_core::view::Request;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::account::{self, Account, Accounts, Result as Told};
use crate::aside::aside;
use crate::call::{Caller, Fault, Reply};
use crate::renderer::{Form, Job, Rendered, Renderer, capture, payload_bytes};
use crate::rules::Relayed;
use crate::terms::Terms;

/// Replies at once of which it is found out what they would have been. Of the others it is not told.
const SHADOWS: usize = 4;
/// Tokens of a payload that are counted; the rest is taken to be like them.
const COUNTED: usize = 2_048;

/// Relays replies.
pub(crate) struct Relaying {
    renderer: Arc<Renderer>,
    accounts: Arc<Accounts>,
    shadows: Arc<Semaphore>,
}

impl Relaying {
    pub(crate) fn new(renderer: Arc<Renderer>, accounts: Arc<Accounts>) -> Self {
        Self { renderer, accounts, shadows: Arc::new(Semaphore::new(SHADOWS)) }
    }

    /// The reply to a payload that is not shaped. What it costs, and what it would have been, is found out beside: the time that
    /// this takes is not the request's.
    pub(crate) async fn relay(&self, account: Account<'_>, relayed: Relayed, payload: Payload) -> Reply {
        let Account { caller, endpoint, follow_up, origin, begun } = account;
        let redact = payload.redact.as_ref().or(caller.terms.redact.as_ref());
        let hides = redact.is_some_and(|redact| **redact != Redact::nothing());
        let reply = if hides { self.hidden(caller, payload.clone()).await } else { Reply::Untouched };
        let (latency, overhead) = (self.accounts.elapsed(caller.since), self.accounts.elapsed(begun));
        let room = Arc::clone(&self.shadows).try_acquire_owned().ok().filter(|_| relayed.shadow);
        let (caller, endpoint) = (caller.clone(), endpoint.cloned());
        let (renderer, accounts) = (Arc::clone(&self.renderer), Arc::clone(&self.accounts));
        let telling = async move {
            let (asked, bytes, is_tried) = (caller.clone(), payload_bytes(&payload), room.is_some());
            let found = aside(usize::MAX, move || {
                let tokens = estimated(&payload, &asked.terms);
                (tokens, is_tried.then(|| shadow(&renderer, asked, payload, tokens)).flatten())
            });
            let (tokens, shadow) = found.await;
            let result = Told { shadow, ..Told::passed(Outcome::Unshaped, bytes, Some(tokens)) };
            let account = Account { caller: &caller, endpoint: endpoint.as_ref(), follow_up, origin, begun };
            accounts.tell_then(account, result, latency, overhead);
            drop(room);
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(telling)),
            Err(_) => telling.await,
        }
        reply
    }

    /// A payload whole but for what is to be hidden of it.
    async fn hidden(&self, caller: &Caller, payload: Payload) -> Reply {
        let caller = Caller { terms: Arc::new(caller.terms.boundless()), ..caller.clone() };
        let (renderer, bytes) = (Arc::clone(&self.renderer), payload_bytes(&payload));
        match aside(bytes, move || rendered(&renderer, caller, payload)).await {
            Some(Rendered::Portion { portion, .. }) => Reply::Portion(portion),
            Some(Rendered::Untouched(_)) => Reply::Untouched,
            // What cannot be hidden from is not shown.
            Some(Rendered::Wrong(_) | Rendered::Failed) | None => {
                Reply::Fault(Fault::not_captured(bytes, "", None))
            }
        }
    }
}

/// What shaping would have served of a payload of so many tokens.
fn shadow(renderer: &Renderer, caller: Caller, payload: Payload, tokens: usize) -> Option<Shadow> {
    let begun = Instant::now();
    let bytes = payload_bytes(&payload);
    let (outcome, tokens, bytes) = match rendered(renderer, caller, payload)? {
        Rendered::Untouched(counted) => (Outcome::Untouched, counted.unwrap_or(tokens), bytes),
        Rendered::Portion { portion, capped, .. } => {
            let outcome = account::outcome(portion.kind(), &Request::default());
            let outcome = if capped { Outcome::Capped } else { outcome };
            (outcome, portion.tokens(), account::bytes(&portion))
        }
        Rendered::Wrong(_) | Rendered::Failed => return None,
    };
    let overhead: Duration = begun.elapsed();
    Some(Shadow { outcome, tokens: tokens as u64, bytes: bytes as u64, overhead })
}

/// The first reply to a payload, with cursors as if it were kept.
fn rendered(renderer: &Renderer, caller: Caller, payload: Payload) -> Option<Rendered> {
    let snapshot = Arc::new(capture(payload, &caller.terms).ok()?);
    let (id, request) = (Default::default(), Request::default());
    let job = Job { caller, id, snapshot, base: None, request, form: Form::Fresh };
    Some(renderer.render(&job, true))
}

/// What a payload costs, by its beginning.
fn estimated(payload: &Payload, terms: &Terms) -> usize {
    let (mut tokens, mut left) = (0_f64, COUNTED);
    let mut uncounted = 0;
    let mut counted = (0_f64, 0);
    for block in &payload.blocks {
        let text = match &block.content {
            Content::Text(text) | Content::Structured(text) | Content::Aside(text) => text,
            Content::Atomic { binary: Some(binary), .. } if binary.media => {
                tokens += terms.policy.media_tokens as f64;
                continue;
            }
            Content::Atomic { json, .. } => json,
        };
        let prefix = terms.counter.prefix_within(text, left).min(text.len());
        let cost = if prefix < text.len() {
            std::mem::take(&mut left)
        } else {
            let cost = terms.counter.count(text);
            left = left.saturating_sub(cost);
            cost
        };
        counted = (counted.0 + cost as f64, counted.1 + prefix);
        uncounted += text.len() - prefix;
    }
    if counted.1 > 0 {
        tokens += counted.0 * (1.0 + uncounted as f64 / counted.1 as f64);
    }
    tokens.round() as usize
}
