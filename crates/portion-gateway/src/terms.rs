//! On which terms a client is served: the limits that its replies obey, and what counts them.
//!
//! [`Rules`] are what the operator and the surroundings decide, once; [`Terms`] are what follows for one client,
//! worked out when the rules are made. What an operator wrote stands. Else what is known of the client lowers a limit;
//! nothing raises one.

use std::fmt;
use std::sync::Arc;

use portion_core::policy::{Given, Policy, Room};
use portion_core::redact::Redact;
use portion_core::tokens::{TokenCounter, Tokenizer};

use crate::client::{CLIENTS, Client, Limit, Preset};

/// What a reply to one client obeys.
#[derive(Clone)]
pub struct Terms {
    /// The limits.
    pub policy: Policy,
    /// The same limits, where counting or rendering failed.
    pub(crate) fallback: Policy,
    /// Counts what a reply costs.
    pub counter: &'static dyn TokenCounter,
    /// Counts anew what an estimating counter let through, to catch it where it is badly wrong; `None` where the
    /// counter is exact or errs upwards.
    pub auditor: Option<&'static dyn TokenCounter>,
    /// What is hidden of payloads before anything is made of them.
    pub redact: Option<Arc<Redact>>,
}

/// What decides about the [`Terms`] of every client.
pub struct Rules {
    given: Given,
    preset: Preset,
    /// What the surroundings say, whoever asks.
    room: Room,
    /// Of the [`CLIENTS`], in their order.
    known: Vec<Arc<Terms>>,
    unknown: Arc<Terms>,
}

impl Terms {
    /// Terms of these parts. The policy is taken to be valid.
    pub fn new(
        policy: Policy,
        counter: &'static dyn TokenCounter,
        auditor: Option<&'static dyn TokenCounter>,
    ) -> Self {
        let fallback = Policy { hard_byte_limit: policy.fallback_byte_limit, ..policy.clone() };
        Self { policy, fallback, counter, auditor, redact: None }
    }
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, counter, .. } = self;
        f.debug_struct("Terms")
            .field("policy", policy)
            .field("counter", &counter.name())
            .finish_non_exhaustive()
    }
}

impl Rules {
    /// The rules that follow from what an operator wrote, whose policy is taken to be valid, and from the room that
    /// the surroundings leave whoever asks.
    pub fn new(given: Given, tokenizer: Tokenizer, preset: Preset, room: Room) -> Self {
        let terms = |client: Option<&'static Client>| {
            let family = match tokenizer {
                Tokenizer::Auto => client.and_then(|client| client.tokenizer).unwrap_or_default(),
                named => named,
            };
            let policy = given.policy(room_of(client, preset).and(room));
            Arc::new(Terms::new(policy, family.counter(), family.auditor()))
        };
        let known = CLIENTS.iter().map(|client| terms(Some(client))).collect();
        let unknown = terms(None);
        Self { given, preset, room, known, unknown }
    }

    /// The same terms for everybody.
    pub fn fixed(terms: Terms) -> Self {
        let (given, terms) = (Given::from(&terms.policy), Arc::new(terms));
        let known = CLIENTS.iter().map(|_| Arc::clone(&terms)).collect();
        Self { given, preset: Preset::None, room: Room::UNKNOWN, known, unknown: terms }
    }

    /// The same rules, by which so much is hidden of payloads, whoever asks.
    #[must_use]
    pub fn with_redact(mut self, redact: Option<&Arc<Redact>>) -> Self {
        for terms in self.known.iter_mut().chain([&mut self.unknown]) {
            Arc::make_mut(terms).redact = redact.cloned();
        }
        self
    }

    /// Whom a client is taken for that calls itself so, or says nothing.
    pub fn client(&self, name: Option<&str>) -> Option<&'static Client> {
        match self.preset {
            Preset::Named(client) => Some(client),
            Preset::None | Preset::Auto => name.and_then(Client::named),
        }
    }

    /// The terms of a client, `None` where it is not known.
    pub fn terms(&self, client: Option<&'static Client>) -> &Arc<Terms> {
        let place = client.and_then(|client| CLIENTS.iter().position(|known| std::ptr::eq(known, client)));
        place.and_then(|place| self.known.get(place)).unwrap_or(&self.unknown)
    }

    /// The terms of a client for a tool that says of itself how many characters its results may have.
    ///
    /// Where the client heeds that, it stands in place of the client's own limit in characters.
    pub fn terms_for_tool(&self, client: &'static Client, characters: usize) -> Arc<Terms> {
        let terms = self.terms(Some(client));
        if !client.heeds_tools {
            return Arc::clone(terms);
        }
        let others = Room { bytes: None, ..room_of(Some(client), self.preset) };
        let policy = self.given.policy(others.and(Limit::Characters(characters).room()).and(self.room));
        if policy == terms.policy {
            return Arc::clone(terms);
        }
        let redact = terms.redact.clone();
        Arc::new(Terms { redact, ..Terms::new(policy, terms.counter, terms.auditor) })
    }
}

/// The room that a client leaves, where its preset is gone by.
fn room_of(client: Option<&Client>, preset: Preset) -> Room {
    match preset {
        Preset::None => Room::UNKNOWN,
        Preset::Auto => client.map_or(Room::UNKNOWN, Client::room),
        Preset::Named(client) => client.room(),
    }
}
