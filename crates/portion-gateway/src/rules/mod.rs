//! What follows from a [`Book`] for each endpoint and client: on which terms it is served, and whether at all.
//!
//! [`Rules`] are one version and never change; a gateway that is given others serves what comes next by those. What an
//! operator wrote stands. Else what is known of the client lowers a limit; nothing raises one. A rule is worked out when
//! its endpoint is first called, and kept: from then on it costs a look-up.

mod treatment;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use portion_core::policy::{Given, Policy, Room, Structured};
use portion_core::tokens::{Factor, Tokenizer};

use crate::book::{Book, Target, Written};
use crate::call::EndpointKind;
use crate::client::{CLIENTS, Client, Limit, Preset};
use crate::terms::Terms;

pub use treatment::{Relayed, Treatment};

/// Endpoints whose rules are kept. Names of resources may be without end.
const KEPT: usize = 4096;

/// What decides on which terms clients are served, at one version of the configuration.
pub struct Rules {
    book: Arc<dyn Book>,
    /// What the surroundings say, whoever asks.
    room: Room,
    /// For whatever nothing else was written for.
    general: Arc<Rule>,
    /// By the endpoint's name; there may be several of one name.
    kept: RwLock<HashMap<Box<str>, Vec<Ruled>>>,
}

/// What decides on which terms clients are served at one endpoint.
#[derive(Debug)]
pub struct Rule {
    written: Written,
    version: u64,
    /// By which clients are told apart, whatever the endpoint.
    preset: Preset,
    room: Room,
    /// Of the [`CLIENTS`], in their order.
    known: Vec<Arc<Terms>>,
    unknown: Arc<Terms>,
}

/// How tokens are counted, and by which clients are told apart: the same for every endpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Counting {
    tokenizer: Tokenizer,
    factor: Factor,
    preset: Preset,
}

/// An endpoint, its name aside, and what was decided for it.
struct Ruled {
    upstream: Option<Box<str>>,
    kind: EndpointKind,
    rule: Arc<Rule>,
}

impl Rules {
    /// The rules that follow from a book, and from the room that the surroundings leave whoever asks.
    pub fn new(book: Arc<dyn Book>, room: Room) -> Self {
        let general = book.written(None);
        let counting = Counting::of(&general);
        let general = Rule::new(general, book.version(), counting, room);
        Self { book, room, general: Arc::new(general), kept: RwLock::default() }
    }

    /// The same terms for everybody.
    pub fn fixed(terms: Terms) -> Self {
        let limits = Given::from(&terms.policy);
        let written = Written { limits, redact: terms.redact.clone(), ..Written::default() };
        let mut rules = Self::new(Arc::new(written.clone()), Room::UNKNOWN);
        let terms = Arc::new(terms);
        let known = CLIENTS.iter().map(|_| Arc::clone(&terms)).collect();
        let (preset, room) = (Preset::None, Room::UNKNOWN);
        rules.general = Arc::new(Rule { written, version: 0, preset, room, known, unknown: terms });
        rules
    }

    /// The version of the configuration that they follow from.
    pub fn version(&self) -> u64 {
        self.general.version
    }

    /// Whom a client is taken for that calls itself so, or says nothing.
    pub fn client(&self, name: Option<&str>) -> Option<&'static Client> {
        match self.general.preset {
            Preset::Named(client) => Some(client),
            Preset::None | Preset::Auto => name.and_then(Client::named),
            Preset::Code => None,
        }
    }

    /// Whether tokens are counted as by these other ones.
    pub(crate) fn count_like(&self, other: &Self) -> bool {
        Counting::of(&self.general.written) == Counting::of(&other.general.written)
    }

    /// What was decided for whatever is not named.
    pub fn general(&self) -> &Arc<Rule> {
        &self.general
    }

    /// What was decided for an endpoint.
    pub fn rule(&self, target: Target<'_>) -> Arc<Rule> {
        let find = |rules: &HashMap<Box<str>, Vec<Ruled>>| {
            let found = rules.get(target.name)?.iter().find(|ruled| ruled.is_of(target))?;
            Some(Arc::clone(&found.rule))
        };
        if let Some(rule) = find(&self.kept.read().unwrap_or_else(PoisonError::into_inner)) {
            return rule;
        }
        let rule = self.worked_out(target);
        let mut rules = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if rules.len() >= KEPT {
            rules.clear();
        }
        let (upstream, kind) = (target.upstream.map(Into::into), target.kind);
        rules.entry(target.name.into()).or_default().push(Ruled { upstream, kind, rule: Arc::clone(&rule) });
        rule
    }

    fn worked_out(&self, target: Target<'_>) -> Arc<Rule> {
        let written = self.book.written(Some(target));
        if written == self.general.written {
            return Arc::clone(&self.general);
        }
        Arc::new(Rule::new(written, self.version(), Counting::of(&self.general.written), self.room))
    }
}

impl Counting {
    fn of(general: &Written) -> Self {
        let Written { tokenizer, tokenizer_factor: factor, preset, .. } = *general;
        Self { tokenizer, factor, preset }
    }
}

impl Rule {
    fn new(written: Written, version: u64, counting: Counting, room: Room) -> Self {
        let Counting { tokenizer, factor, preset } = counting;
        let terms = |client: Option<&'static Client>| {
            let family = match tokenizer {
                Tokenizer::Auto => client.and_then(|client| client.tokenizer).unwrap_or_default(),
                named => named,
            };
            let policy = policy(&written, client, room_of(client, preset).and(room));
            Arc::new(Terms { redact: written.redact.clone(), ..Terms::by(policy, family, factor) })
        };
        let known = CLIENTS.iter().map(|client| terms(Some(client))).collect();
        let unknown = terms(None);
        Self { written, version, preset, room, known, unknown }
    }

    /// Whether a caller gets results whole who asks for that, or is taken for a program.
    pub fn serves_whole(&self, asked: bool) -> bool {
        self.written.allow_whole && (asked || self.preset == Preset::Code)
    }

    /// What it follows from.
    pub fn written(&self) -> &Written {
        &self.written
    }

    /// The version of the configuration that it follows from.
    pub fn version(&self) -> u64 {
        self.version
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
        let room = others.and(Limit::Characters(characters).room()).and(self.room);
        let policy = policy(&self.written, Some(client), room);
        if policy == terms.policy { Arc::clone(terms) } else { Arc::new(terms.with_policy(policy)) }
    }
}

impl Ruled {
    fn is_of(&self, target: Target<'_>) -> bool {
        self.kind == target.kind && self.upstream.as_deref() == target.upstream
    }
}

/// The limits for a client within a room.
fn policy(written: &Written, client: Option<&Client>, room: Room) -> Policy {
    let mut policy = written.limits.policy(room);
    if client.is_some_and(|client| client.shows_structured) {
        policy.manner.structured = Structured::AsText;
    }
    policy
}

/// The room that a client leaves, where its preset is gone by.
fn room_of(client: Option<&Client>, preset: Preset) -> Room {
    match preset {
        Preset::None | Preset::Code => Room::UNKNOWN,
        Preset::Auto => client.map_or(Room::UNKNOWN, Client::room),
        Preset::Named(client) => client.room(),
    }
}

#[cfg(test)]
mod tests;
