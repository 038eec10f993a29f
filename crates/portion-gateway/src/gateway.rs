//! The neck: every reply with content in it is made here, and nowhere else.
//!
//! A fresh payload is captured and rendered at once. Only if something of it is left out is it put into the
//! store; a reply whose snapshot found no room is rendered anew, without cursors. Whatever fails on the way,
//! the reply gets smaller or plainer, and the upstream is not asked again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use portion_core::cursor::{Keyring, Position, SnapshotId};
use portion_core::event::Outcome;
use portion_core::payload::Payload;
use portion_core::snapshot::Snapshot;
use portion_core::tokens::BYTES;
use portion_core::view::{Request, View};

use crate::account::{Account, Accounts, Kind, Result as Told};
use crate::accuracy;
use crate::accuracy::recount::{By, Shown};
use crate::accuracy::texts::Texts;
use crate::aside::aside;
use crate::call::{Ask, Call, Caller, Endpoint, Fault, Intent, Reply, ReuseKey};
use crate::decision;
use crate::dropped::{self, Dropped, Drops};
use crate::questions::{AT_ONCE, WAITING};
use crate::relayed::Relaying;
use crate::renderer::{Form, Job, Rendered, Renderer, capture, payload_bytes};
use crate::rules::Rules;
use crate::settings::{Clock, Settings};
use crate::spans::Spans;
use crate::store::{Deposit, Figures, Held, Missing, Refused, SnapshotStore};
use crate::terms::Terms;

/// Bytes that stand for a token where nobody counts.
const BYTES_A_TOKEN: usize = 4;
/// Where `_meta` tells what is left to a session.
const SESSION: &str = "io.portion/session";

/// Makes replies.
pub struct Gateway {
    rules: ArcSwap<Rules>,
    renderer: Arc<Renderer>,
    store: Arc<dyn SnapshotStore>,
    relaying: Relaying,
    accounts: Arc<Accounts>,
    spans: Spans,
    drops: Drops,
    clock: Clock,
}

/// A request whose reply is being made.
struct Turn {
    caller: Caller,
    endpoint: Option<Arc<Endpoint>>,
    /// Whether the upstream is not asked.
    follow_up: bool,
    /// Whether what came of the upstream is an error.
    failed: bool,
    /// The snapshot of the payload that the reply goes back to, where that came before.
    origin: Option<SnapshotId>,
    begun: Instant,
}

/// A cursor that leads nowhere, and what is known all the same of where it led: whoever records it asks for just that.
struct Astray {
    fault: Fault,
    endpoint: Option<Arc<Endpoint>>,
    origin: Option<SnapshotId>,
}

impl Turn {
    /// The same, told what is known of where its cursor led.
    fn astray(self, endpoint: Option<Arc<Endpoint>>, origin: Option<SnapshotId>) -> Self {
        Self { endpoint: endpoint.or(self.endpoint), origin, ..self }
    }

    fn account(&self) -> Account<'_> {
        let Self { caller, endpoint, follow_up, failed, origin, begun } = self;
        let endpoint = endpoint.as_deref();
        Account { caller, endpoint, follow_up: *follow_up, failed: *failed, origin: *origin, begun: *begun }
    }
}

impl Gateway {
    /// A gateway of these parts.
    pub fn new(settings: Settings) -> Self {
        let Settings { rules, secret, store, clock, observer } = settings;
        let renderer = Arc::new(Renderer { keyring: Keyring::new(&secret) });
        let accounts = Arc::new(Accounts::new(observer, Arc::clone(&clock)));
        let relaying = Relaying::new(Arc::clone(&renderer), Arc::clone(&accounts));
        let rules = ArcSwap::from_pointee(rules);
        Self {
            rules,
            renderer,
            store,
            relaying,
            accounts,
            spans: Spans::new(),
            drops: Drops::default(),
            clock,
        }
    }

    /// What decides on which terms clients are served, as it is now.
    pub fn rules(&self) -> Arc<Rules> {
        self.rules.load_full()
    }

    /// Serves what is asked from now on by these rules. What was asked before, and what follows from it, keeps those that it
    /// began with.
    pub fn govern(&self, rules: Rules) {
        let earlier = self.rules.swap(Arc::new(rules));
        if !self.rules.load().count_like(&earlier) {
            self.accounts.ledger.forget();
        }
    }

    /// How near token counts have come of late to what they are held against.
    pub fn accuracy(&self) -> accuracy::Figures {
        self.accounts.accuracy()
    }

    /// Waits for what is still to be told of replies that are on their way, at most so long; whether all of it was. It is for
    /// the end of the program.
    pub fn settle(&self, limit: Duration) -> bool {
        self.accounts.settle(limit)
    }

    /// What the store holds.
    pub fn stored(&self) -> Figures {
        self.store.figures(self.now())
    }

    /// How many messages of servers were not relayed.
    pub fn dropped(&self) -> dropped::Figures {
        self.drops.figures()
    }

    /// Counts a message of a server that is not relayed.
    pub(crate) fn drops(&self, dropped: Dropped, bytes: usize, why: &str) {
        self.drops.count(dropped, bytes, why, self.now());
    }

    /// What time it is.
    pub fn now(&self) -> Instant {
        (self.clock)()
    }

    /// An id for a span of ours.
    pub(crate) fn span(&self) -> u64 {
        self.spans.next()
    }

    /// The reply to a call.
    pub async fn answer(&self, call: Call) -> Reply {
        let Call { caller, endpoint, intent } = call;
        let (endpoint, begun) = (endpoint.map(Arc::new), self.now());
        let follow_up = !matches!(intent, Intent::Fresh { .. });
        let failed = matches!(&intent, Intent::Fresh { payload, .. } if payload.is_error);
        let turn = Turn { caller, endpoint, follow_up, failed, origin: None, begun };
        match intent {
            Intent::Fresh { payload, request, reuse } => {
                let relayed = turn.caller.treatment.relayed.filter(|relayed| {
                    request.is_plain() && relayed.limit.is_none_or(|limit| payload_bytes(&payload) <= limit)
                });
                match relayed {
                    Some(relayed) => Box::pin(self.relaying.relay(turn.account(), relayed, payload)).await,
                    None => Box::pin(self.fresh(turn, payload, request, reuse)).await,
                }
            }
            Intent::Follow { request } => Box::pin(self.follow(turn, request)).await,
            Intent::Query { request, ask } => Box::pin(self.query(turn, request, ask)).await,
        }
    }

    /// The reply to a call of an endpoint by what an equal call has brought earlier: `None` where that cannot
    /// answer this request, or is no longer kept, and the upstream has to be asked.
    ///
    /// A place further on can be answered so always, another selection only where the endpoint changes nothing, or its
    /// operator says so.
    pub async fn recall(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        reuse: &ReuseKey,
        request: &Request,
    ) -> Option<Reply> {
        let (goes_on, selects) = (request.goes_on(), request.selects());
        let answerable = match caller.rule.written().reuse {
            None => goes_on || (endpoint.read_only && selects),
            Some(said) => said && (goes_on || selects),
        };
        if !answerable || request.cursor.is_some() {
            return None;
        }
        let begun = self.now();
        let held = self.store.recall(&caller.scope, *reuse, begun).await?;
        let caller = Caller { read_uri: None, ..under(caller.clone(), &held) };
        let Held { id, snapshot, origin, view, .. } = held;
        let (endpoint, origin) = (Some(Arc::new(endpoint.clone())), Some(origin));
        let turn = Turn { caller, endpoint, follow_up: true, failed: false, origin, begun };
        // Pages are as large as the first reply to that call was.
        let base = Some((view, Position::default()));
        Some(self.serve(turn, (id, snapshot, base), request.clone(), Form::Again).await)
    }

    /// Whoever reads on by a cursor, under the rule that what it points to was captured under: controls are held against that.
    pub async fn reader(&self, caller: Caller, cursor: &str) -> Caller {
        let request = Request { cursor: Some(cursor.to_owned()), ..Request::default() };
        match self.held(&caller, None, &request).await {
            Ok((held, _)) => under(caller, &held),
            // What is wrong with it is told to whoever reads.
            Err(_) => caller,
        }
    }

    /// A fault as the reply to a call of an endpoint: within the budget of the request that it answers.
    pub fn refuse(&self, fault: Fault, caller: &Caller, request: &Request, endpoint: &Endpoint) -> Fault {
        self.told(fault, request, self.call_of(endpoint, caller))
    }

    /// Takes note of a call that its upstream has failed in a way that is passed on as it came: in so many bytes, as far as
    /// that is known.
    pub fn failed(&self, caller: &Caller, endpoint: &Endpoint, bytes: usize) {
        let account = Account { failed: true, ..self.call_of(endpoint, caller) };
        self.accounts.tell(account, Told::passed(Outcome::Untouched, bytes, None));
    }

    fn call_of<'a>(&self, endpoint: &'a Endpoint, caller: &'a Caller) -> Account<'a> {
        let (endpoint, begun) = (Some(endpoint), self.now());
        Account { caller, endpoint, follow_up: false, failed: false, origin: None, begun }
    }

    /// A fault as the reply to whoever reads on by a cursor, if that was given, and cannot be understood: it is told of what
    /// the cursor points to, where that is known, else of what was called.
    pub async fn refuse_reader(
        &self,
        fault: Fault,
        caller: Caller,
        endpoint: Option<Endpoint>,
        cursor: Option<String>,
    ) -> Reply {
        let (endpoint, begun) = (endpoint.map(Arc::new), self.now());
        let turn = Turn { caller, endpoint, follow_up: true, failed: false, origin: None, begun };
        let request = Request { cursor, ..Request::default() };
        let turn = match self.held(&turn.caller, None, &request).await {
            Ok((held, _)) => turn.astray(held.endpoint, Some(held.origin)),
            Err(Astray { endpoint, origin, .. }) => turn.astray(endpoint, origin),
        };
        self.refused(fault, &request, turn.account())
    }

    /// A fault that is served already, said otherwise.
    pub(crate) fn reworded(fault: Fault, terms: &Terms, request: &Request) -> Reply {
        Reply::Fault(fitted(fault, terms, request))
    }

    fn refused(&self, fault: Fault, request: &Request, account: Account<'_>) -> Reply {
        Reply::Fault(self.told(fault, request, account))
    }

    /// A fault within the budget of the request that it answers, taken note of.
    fn told(&self, fault: Fault, request: &Request, account: Account<'_>) -> Fault {
        let terms = &account.caller.terms;
        let fault = fitted(fault, terms, request);
        let tokens = catch_unwind(AssertUnwindSafe(|| terms.counter.count(&fault.to_json())));
        let tokens = tokens.unwrap_or(terms.policy.token_budget_threshold);
        self.accounts.tell(account, Told::refused(&fault, tokens));
        fault
    }

    async fn fresh(&self, turn: Turn, payload: Payload, request: Request, reuse: Option<ReuseKey>) -> Reply {
        let caller = turn.caller.within_session().bounding(payload_bytes(&payload));
        let caller = self.accounts.bounded(caller, turn.endpoint.as_deref());
        let turn = Turn { caller, ..turn };
        let terms = Arc::clone(&turn.caller.terms);
        let captured = aside(payload_bytes(&payload), move || capture(payload, &terms)).await;
        let snapshot = match captured {
            Ok(snapshot) => Arc::new(snapshot),
            Err(lost) => {
                let fault = Fault::not_captured(lost.bytes, &lost.beginning, turn.endpoint.as_deref());
                return self.refused(fault, &request, turn.account());
            }
        };
        let id = random_id();
        let form = if snapshot.answer().is_some() { Form::Text } else { Form::Fresh };
        let caller = turn.caller.clone();
        let job = Job { caller, id: id.unwrap_or_default(), snapshot, base: None, request, form };
        let job = Arc::new(job);
        let rendered = self.render(&job, id.is_some()).await;
        let view = match &rendered {
            Rendered::Untouched { .. } => None,
            Rendered::Portion { view, .. } => Some(view.clone()),
            // The fault that is sent instead carries the handle of the whole.
            Rendered::Wrong(_) | Rendered::Failed => Some(View::root()),
        };
        let kept = match view {
            Some(view) if id.is_some() => {
                let (snapshot, rule) = (Arc::clone(&job.snapshot), Some(Arc::clone(&turn.caller.rule)));
                let (endpoint, origin) = (turn.endpoint.clone(), turn.origin.unwrap_or(job.id));
                let deposit = Deposit { id: job.id, snapshot, view, endpoint, reuse, rule, origin };
                is_kept(&self.store.put(&job.caller.scope, deposit, self.now()).await)
            }
            _ => false,
        };
        if let Some(reuse) = reuse.filter(|_| !kept) {
            self.store.forget(&job.caller.scope, reuse).await;
        }
        let turn = Turn { origin: turn.origin.or(kept.then_some(job.id)), ..turn };
        self.conclude(&turn, job, rendered, kept).await
    }

    async fn follow(&self, turn: Turn, request: Request) -> Reply {
        let (held, position) = match self.held(&turn.caller, turn.endpoint.as_deref(), &request).await {
            Ok(found) => found,
            Err(astray) => return self.led_astray(astray, turn, &request),
        };
        let form = if turn.endpoint.is_some() { Form::Again } else { Form::Text };
        let endpoint = held.endpoint.clone().or(turn.endpoint);
        let turn = Turn { caller: under(turn.caller, &held), endpoint, origin: Some(held.origin), ..turn };
        let Held { id, snapshot, view, .. } = held;
        self.serve(turn, (id, snapshot, Some((view, position))), request, form).await
    }

    /// The answer to a question about what a cursor points to: a snapshot of its own.
    async fn query(&self, turn: Turn, request: Request, ask: Ask) -> Reply {
        let (held, position) = match self.held(&turn.caller, None, &request).await {
            Ok(found) => found,
            Err(astray) => return self.led_astray(astray, turn, &request),
        };
        let (caller, endpoint) = (under(turn.caller, &held), held.endpoint.clone());
        let turn = Turn { caller, endpoint, origin: Some(held.origin), ..turn };
        if !turn.caller.terms.policy.manner.techniques.query {
            let fault = Fault::query_off(turn.endpoint.as_deref(), &turn.caller.read_tool);
            return self.refused(fault, &request, turn.account());
        }
        let Held { id, snapshot, view, .. } = held;
        let (caller, base) = (turn.caller.clone(), Some((view, position)));
        let about = Arc::new(Job { caller, id, snapshot, base, request, form: Form::Text });
        let (asked, arguments) = (Arc::clone(&about), ask.arguments());
        let session = Arc::clone(&turn.caller.session);
        let Some(place) = session.questions().enter().await else {
            let fault = Fault::too_many_questions(AT_ONCE + WAITING);
            return self.refused(fault, &about.request, turn.account());
        };
        // Whoever gives up waiting ends the question.
        let given_up = turn.caller.stop.when_dropped();
        // However small the payload is, a question may take long.
        let answer = if turn.caller.stop.is_set() {
            Err(Fault::too_many_questions(0))
        } else {
            aside(usize::MAX, move || asked.answer(&ask)).await
        };
        given_up.defuse();
        drop(place);
        let request = &about.request;
        match answer {
            Ok(payload) => {
                let matches =
                    payload.answer.as_ref().map_or(0, |answer| answer.matches + answer.word_matches);
                let (bytes, answer_bytes) = (about.snapshot.payload_bytes(), payload_bytes(&payload));
                let (upstream, name) =
                    (turn.caller.upstream.as_deref(), Endpoint::told(turn.endpoint.as_deref()));
                decision::queried(upstream, &name, &arguments, matches, bytes, answer_bytes);
                let shown = if matches > 0 {
                    Request { cursor: None, path: None, section: None, ..request.clone() }
                } else {
                    // Nothing has no fields, and no order.
                    let Request { limit, max_tokens, .. } = *request;
                    Request { limit, max_tokens, ..Request::default() }
                };
                self.fresh(turn, payload, shown, None).await
            }
            Err(fault) => {
                let fault = fault.with_cursor(Some(self.renderer.handle(&about)));
                self.refused(fault, request, turn.account())
            }
        }
    }

    /// What the cursor of a request points to.
    async fn held(
        &self,
        caller: &Caller,
        endpoint: Option<&Endpoint>,
        request: &Request,
    ) -> Result<(Held, Position), Astray> {
        let verified = match &request.cursor {
            Some(token) => self.renderer.keyring.verify(token, &caller.scope).map_err(|why| why.to_string()),
            None => Err("no cursor was given".to_owned()),
        };
        let pointer = verified.map_err(|why| {
            let fault = Fault::cursor_invalid(why, endpoint);
            Astray { fault, endpoint: None, origin: None }
        })?;
        let found = self.store.find(&caller.scope, pointer.snapshot, pointer.view, (self.clock)()).await;
        // Of a snapshot that nobody remembers only the name is known, which the cursor says. Most go back to themselves; the
        // answer to a question does not, and then nothing else has this origin.
        let by_name = |fault| Astray { fault, endpoint: None, origin: Some(pointer.snapshot) };
        Err(match found {
            Ok(held) => return Ok((held, pointer.position)),
            Err(Missing::View { root }) => {
                let Held { id, snapshot, endpoint, origin, .. } = *root;
                let (base, request, form) = (None, Request::default(), Form::Text);
                let whole = Job { caller: caller.clone(), id, snapshot, base, request, form };
                let fault = Fault::view_expired(self.renderer.handle(&whole), &whole.caller.read_tool);
                Astray { fault, endpoint, origin: Some(origin) }
            }
            Err(Missing::Gone { endpoint: source, origin }) => {
                let fault = Fault::cursor_expired(source.as_deref().or(endpoint));
                Astray { fault, endpoint: source, origin: Some(origin) }
            }
            Err(Missing::Unknown) => by_name(Fault::cursor_expired(endpoint)),
            Err(Missing::Unreachable(why)) => {
                tracing::error!(why, "a snapshot was not found");
                by_name(Fault::store_unavailable(endpoint))
            }
        })
    }

    /// The reply to a request whose cursor leads nowhere.
    fn led_astray(&self, astray: Astray, turn: Turn, request: &Request) -> Reply {
        let Astray { fault, endpoint, origin } = astray;
        self.refused(fault, request, turn.astray(endpoint, origin).account())
    }

    /// The reply of a snapshot that is kept, from a place in a view of it.
    async fn serve(
        &self,
        turn: Turn,
        (id, snapshot, base): (SnapshotId, Arc<Snapshot>, Option<(View, Position)>),
        request: Request,
        form: Form,
    ) -> Reply {
        let caller = self.accounts.bounded(turn.caller.within_session(), turn.endpoint.as_deref());
        let turn = Turn { caller, ..turn };
        let job = Arc::new(Job { caller: turn.caller.clone(), id, snapshot, base, request, form });
        let rendered = self.render(&job, true).await;
        let kept = match &rendered {
            Rendered::Portion { view, .. } => {
                is_kept(&self.store.keep_view(&job.caller.scope, job.id, view.clone(), self.now()).await)
            }
            _ => true,
        };
        self.conclude(&turn, job, rendered, kept).await
    }

    /// The reply to what was rendered in the hope that it would be kept.
    async fn conclude(&self, turn: &Turn, job: Arc<Job>, rendered: Rendered, kept: bool) -> Reply {
        let rendered = match rendered {
            Rendered::Portion { .. } if !kept => self.render(&job, false).await,
            rendered => rendered,
        };
        let handle = || kept.then(|| self.renderer.handle(&job));
        let (account, snapshot) = (turn.account(), &*job.snapshot);
        let fault = match rendered {
            Rendered::Untouched { tokens, capped, audit } => {
                // What nobody counted passes because a technique is off.
                let (outcome, by) = match tokens {
                    Some(_) => (Outcome::Untouched, by(capped)),
                    None => (Outcome::Unshaped, By::Nobody),
                };
                let tokens = tokens.unwrap_or_else(|| snapshot.payload_bytes().div_ceil(BYTES_A_TOKEN));
                let passed = Told::passed(outcome, snapshot.payload_bytes(), Some(tokens));
                let texts = Texts::of_payload(snapshot, &account.caller.terms.policy);
                let shown = Shown { texts, snapshot: &job.snapshot, audit, by };
                self.accounts.tell_of(account, Told { payload: Kind::of(snapshot), ..passed }, shown);
                return Reply::Untouched;
            }
            Rendered::Portion { portion, capped, audit, .. } => {
                let told = Told::of(&portion, &job.request, snapshot, capped);
                let texts = Texts::of_portion(&portion);
                let shown = Shown { texts, snapshot: &job.snapshot, audit, by: by(capped) };
                self.accounts.tell_of(account, told, shown);
                if portion.dropped() > 0 {
                    let (upstream, name) =
                        (turn.caller.upstream.as_deref(), Endpoint::told(turn.endpoint.as_deref()));
                    decision::dropped(upstream, &name, portion.dropped());
                }
                return Reply::Portion(match turn.caller.left() {
                    Some((left, budget)) => {
                        portion.with_beside(format!("\"{SESSION}\":{{\"budget\":{budget},\"left\":{left}}}"))
                    }
                    None => portion,
                });
            }
            Rendered::Wrong(error) => Fault::from(error).with_cursor(handle()),
            Rendered::Failed => Fault::not_rendered(handle(), &job.caller.read_tool),
        };
        self.refused(fault, &job.request, account)
    }

    async fn render(&self, job: &Arc<Job>, kept: bool) -> Rendered {
        let (renderer, job) = (Arc::clone(&self.renderer), Arc::clone(job));
        aside(job.snapshot.payload_bytes(), move || renderer.render(&job, kept)).await
    }
}

/// A fault within the budget of the request that it answers.
fn fitted(fault: Fault, terms: &Terms, request: &Request) -> Fault {
    let Terms { policy, counter, .. } = terms;
    let budget = request.max_tokens.unwrap_or(policy.token_budget_threshold);
    let fitted =
        catch_unwind(AssertUnwindSafe(|| fault.clone().fit(*counter, budget, policy.hard_byte_limit)));
    fitted.unwrap_or_else(|_| fault.fit(BYTES, budget, policy.fallback_byte_limit))
}

/// Whoever reads on does so under the rule that the snapshot was captured under.
fn under(caller: Caller, held: &Held) -> Caller {
    match &held.rule {
        Some(rule) => caller.under(rule),
        None => caller,
    }
}

/// What counted.
fn by(capped: bool) -> By {
    if capped { By::Bytes } else { By::Counter }
}

/// Whether the store took it; if not, why is logged.
fn is_kept(outcome: &Result<(), Refused>) -> bool {
    if let Err(refused) = outcome {
        tracing::warn!(%refused, "the reply is served without cursors");
    }
    outcome.is_ok()
}

/// A name for a snapshot; `None` where the system has no randomness to give, and it cannot be kept.
fn random_id() -> Option<SnapshotId> {
    let mut id = SnapshotId::default();
    getrandom::fill(&mut id).ok().map(|()| id)
}
