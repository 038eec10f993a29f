//! Replies that are relayed as they come, and what shaping would have made of them.
//!
//! What is to be hidden is hidden here too. What would have been is found out beside, when the reply is on its way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::event::{Outcome, Served, Shadow};
use portion_core::payload::Payload;
use portion_core::redact::Redact;
use portion_core::view::Request;

use crate::account::{self, Account, Accounts, Result as Told};
use crate::accuracy::ledger::{Ledger, Subject};
use crate::accuracy::texts::{Texts, approximate_relayed};
use crate::aside::aside;
use crate::beside::Purpose;
use crate::call::{Caller, Fault, Reply};
use crate::renderer::{Form, Job, Rendered, Renderer, capture, payload_bytes};
use crate::rules::Relayed;
use crate::terms::Terms;

/// Bytes that stand for a token where there is no time to count.
const BYTES_A_TOKEN: usize = 4;

/// Relays replies.
pub(crate) struct Relaying {
    renderer: Arc<Renderer>,
    accounts: Arc<Accounts>,
}

impl Relaying {
    pub(crate) fn new(renderer: Arc<Renderer>, accounts: Arc<Accounts>) -> Self {
        Self { renderer, accounts }
    }

    /// The reply to a payload that is not shaped. What it costs, and what it would have been, is found out beside: the time that
    /// this takes is not the request's.
    pub(crate) async fn relay(&self, account: Account<'_>, relayed: Relayed, payload: Payload) -> Reply {
        let caller = account.caller;
        let redact = payload.redact.as_ref().or(caller.terms.redact.as_ref());
        let hides = redact.is_some_and(|redact| **redact != Redact::nothing());
        let reply = if hides { self.hidden(caller, payload.clone()).await } else { Reply::Untouched };
        let bytes = payload_bytes(&payload);
        let served = self.accounts.record(account, Told::passed(Outcome::Unshaped, bytes, None));
        let texts = Texts::of_relayed(&payload).bytes();
        let telling = Telling {
            is_drawn: self.accounts.is_drawn(account, &served, texts),
            tries: relayed.shadow,
            served,
            caller: caller.clone(),
            renderer: Arc::clone(&self.renderer),
        };
        let accounts = Arc::clone(&self.accounts);
        self.accounts.beside.work(Purpose::Telling, bytes, move |is_thorough| {
            let ledger = &accounts.ledger;
            accounts.hear(telling.done(payload, ledger, is_thorough));
        });
        reply
    }

    /// A payload whole but for what is to be hidden of it.
    async fn hidden(&self, caller: &Caller, payload: Payload) -> Reply {
        let caller = Caller { terms: Arc::new(caller.terms.boundless()), ..caller.clone() };
        let (renderer, bytes) = (Arc::clone(&self.renderer), payload_bytes(&payload));
        match aside(bytes, move || rendered(&renderer, caller, payload)).await {
            Some(Rendered::Portion { portion, .. }) => Reply::Portion(portion),
            Some(Rendered::Untouched { .. }) => Reply::Untouched,
            // What cannot be hidden from is not shown.
            Some(Rendered::Wrong(_) | Rendered::Failed) | None => {
                Reply::Fault(Fault::not_captured(bytes, "", None))
            }
        }
    }
}

/// A reply that is on its way, of which everything is still to be found out.
struct Telling {
    served: Served,
    caller: Caller,
    renderer: Arc<Renderer>,
    /// Whether it is counted exactly.
    is_drawn: bool,
    /// Whether it is found out what shaping would have made of it.
    tries: bool,
}

impl Telling {
    fn done(self, payload: Payload, ledger: &Ledger, is_thorough: bool) -> Served {
        let Self { mut served, caller, renderer, is_drawn, tries } = self;
        let Terms { counter, policy, reference, .. } = &*caller.terms;
        let tokens = if is_thorough {
            approximate_relayed(&payload, policy, *counter)
        } else {
            payload_bytes(&payload).div_ceil(BYTES_A_TOKEN)
        };
        if let Some(reference) = reference.filter(|_| is_drawn && is_thorough) {
            let sample = Texts::of_relayed(&payload).sample(*counter, reference);
            let others = tokens.saturating_sub(sample.estimated);
            served.actual_tokens = Some((others + sample.actual) as u64);
            ledger.note(&Subject::of(&served, *counter), sample, policy.full_below);
        }
        caller.session.serve(tokens);
        let tokens = tokens as u64;
        (served.estimated_tokens, served.original_tokens) = (Some(tokens), Some(tokens));
        served.shadow = if tries && is_thorough { shadow(&renderer, caller, payload, tokens) } else { None };
        served
    }
}

/// What shaping would have served of a payload of so many tokens.
fn shadow(renderer: &Renderer, caller: Caller, payload: Payload, tokens: u64) -> Option<Shadow> {
    let begun = Instant::now();
    let bytes = payload_bytes(&payload);
    let (outcome, tokens, bytes) = match rendered(renderer, caller, payload)? {
        Rendered::Untouched { tokens: counted, .. } => {
            (Outcome::Untouched, counted.map_or(tokens, |counted| counted as u64), bytes)
        }
        Rendered::Portion { portion, capped, .. } => {
            let outcome = account::outcome(portion.kind(), &Request::default());
            let outcome = if capped { Outcome::Capped } else { outcome };
            (outcome, portion.tokens() as u64, account::bytes(&portion))
        }
        Rendered::Wrong(_) | Rendered::Failed => return None,
    };
    let overhead: Duration = begun.elapsed();
    Some(Shadow { outcome, tokens, bytes: bytes as u64, overhead })
}

/// The first reply to a payload, with cursors as if it were kept.
fn rendered(renderer: &Renderer, caller: Caller, payload: Payload) -> Option<Rendered> {
    let snapshot = Arc::new(capture(payload, &caller.terms).ok()?);
    let (id, request) = (Default::default(), Request::default());
    let job = Job { caller, id, snapshot, base: None, request, form: Form::Fresh };
    Some(renderer.render(&job, true))
}
