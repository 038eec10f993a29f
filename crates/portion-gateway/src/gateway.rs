//! The neck: every reply with content in it is made here, and nowhere else.
//!
//! A fresh payload is captured and rendered at once. Only if something of it is left out is it put into the
//! store; a reply whose snapshot found no room is rendered anew, without cursors. Whatever fails on the way,
//! the reply gets smaller or plainer, and the upstream is not asked again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use portion_core::cursor::{Keyring, Position, SnapshotId};
use portion_core::payload::Payload;
use portion_core::tokens::BYTES;
use portion_core::view::{Request, View};

use crate::aside::aside;
use crate::call::{Ask, Call, Caller, Endpoint, Fault, Intent, Reply, ReuseKey};
use crate::decision;
use crate::renderer::{Form, Job, Rendered, Renderer, capture, payload_bytes};
use crate::settings::{Clock, Settings};
use crate::store::{Deposit, Held, Missing, Refused, SnapshotStore};
use crate::terms::{Rules, Terms};

/// Makes replies.
pub struct Gateway {
    rules: Rules,
    renderer: Arc<Renderer>,
    store: Arc<dyn SnapshotStore>,
    clock: Clock,
}

impl Gateway {
    /// A gateway of these parts.
    pub fn new(settings: Settings) -> Self {
        let Settings { rules, secret, store, clock } = settings;
        let renderer = Arc::new(Renderer { keyring: Keyring::new(&secret) });
        Self { rules, renderer, store, clock }
    }

    /// What decides on which terms a client is served.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The reply to a call.
    pub async fn answer(&self, call: Call) -> Reply {
        let Call { caller, endpoint, intent } = call;
        match intent {
            Intent::Fresh { payload, request, reuse } => {
                self.fresh(caller, endpoint.map(Arc::new), payload, request, reuse).await
            }
            Intent::Follow { request } => self.follow(caller, endpoint.as_ref(), request).await,
            Intent::Query { request, ask } => Box::pin(self.query(caller, request, ask)).await,
        }
    }

    /// The reply to a call of an endpoint by what an equal call has brought earlier: `None` where that cannot
    /// answer this request, or is no longer kept, and the upstream has to be asked.
    ///
    /// A place further on can be answered so always, another selection only where the endpoint changes nothing.
    pub async fn recall(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        reuse: &ReuseKey,
        request: &Request,
    ) -> Option<Reply> {
        let answerable = request.goes_on() || (endpoint.read_only && request.selects());
        if !answerable || request.cursor.is_some() {
            return None;
        }
        let held = self.store.recall(&caller.scope, *reuse, (self.clock)()).await?;
        let Held { id, snapshot, .. } = held;
        let (caller, request) = (Caller { read_uri: None, ..caller.clone() }, request.clone());
        let job = Job { caller, id, snapshot, base: None, request, form: Form::Again };
        Some(self.serve(job, Some(endpoint)).await)
    }

    /// A fault as a reply: within the budget of the request that it answers.
    pub fn refuse(
        &self,
        fault: Fault,
        terms: &Terms,
        request: &Request,
        endpoint: Option<&Endpoint>,
    ) -> Reply {
        let Terms { policy, counter, .. } = terms;
        let budget = request.max_tokens.unwrap_or(policy.token_budget_threshold);
        let fitted =
            catch_unwind(AssertUnwindSafe(|| fault.clone().fit(*counter, budget, policy.hard_byte_limit)));
        let fault = fitted.unwrap_or_else(|_| fault.fit(BYTES, budget, policy.fallback_byte_limit));
        decision::fault(&fault, endpoint);
        Reply::Fault(fault)
    }

    async fn fresh(
        &self,
        caller: Caller,
        endpoint: Option<Arc<Endpoint>>,
        payload: Payload,
        request: Request,
        reuse: Option<ReuseKey>,
    ) -> Reply {
        let terms = Arc::clone(&caller.terms);
        let captured = aside(payload_bytes(&payload), move || capture(payload, &terms)).await;
        let snapshot = match captured {
            Ok(snapshot) => Arc::new(snapshot),
            Err(lost) => {
                let fault = Fault::not_captured(lost.bytes, &lost.beginning, endpoint.as_deref());
                return self.refuse(fault, &caller.terms, &request, endpoint.as_deref());
            }
        };
        let id = random_id();
        let form = if snapshot.answer().is_some() { Form::Text } else { Form::Fresh };
        let job = Job { caller, id: id.unwrap_or_default(), snapshot, base: None, request, form };
        let job = Arc::new(job);
        let rendered = self.render(&job, id.is_some()).await;
        let view = match &rendered {
            Rendered::Untouched => None,
            Rendered::Portion(_, view) => Some(view.clone()),
            // The fault that is sent instead carries the handle of the whole.
            Rendered::Wrong(_) | Rendered::Failed => Some(View::root()),
        };
        let kept = match view {
            Some(view) if id.is_some() => {
                let snapshot = Arc::clone(&job.snapshot);
                let deposit = Deposit { id: job.id, snapshot, view, endpoint: endpoint.clone(), reuse };
                is_kept(&self.store.put(&job.caller.scope, deposit, (self.clock)()).await)
            }
            _ => false,
        };
        if let Some(reuse) = reuse.filter(|_| !kept) {
            self.store.forget(&job.caller.scope, reuse).await;
        }
        self.conclude(job, rendered, kept, endpoint.as_deref()).await
    }

    async fn follow(&self, caller: Caller, endpoint: Option<&Endpoint>, request: Request) -> Reply {
        let (held, position) = match self.held(&caller, endpoint, &request).await {
            Ok(found) => found,
            Err(fault) => return self.refuse(fault, &caller.terms, &request, endpoint),
        };
        let Held { id, snapshot, view, endpoint: source } = held;
        let form = if endpoint.is_some() { Form::Again } else { Form::Text };
        let job = Job { caller, id, snapshot, base: Some((view, position)), request, form };
        self.serve(job, source.as_deref().or(endpoint)).await
    }

    /// The answer to a question about what a cursor points to: a snapshot of its own.
    async fn query(&self, caller: Caller, request: Request, ask: Ask) -> Reply {
        let (held, position) = match self.held(&caller, None, &request).await {
            Ok(found) => found,
            Err(fault) => return self.refuse(fault, &caller.terms, &request, None),
        };
        let Held { id, snapshot, view, endpoint } = held;
        let about = Job { caller, id, snapshot, base: Some((view, position)), request, form: Form::Text };
        let about = Arc::new(about);
        let (asked, arguments) = (Arc::clone(&about), ask.arguments());
        // However small the payload is, a question may take long.
        let answer = aside(usize::MAX, move || asked.answer(&ask)).await;
        let Job { caller, request, .. } = &*about;
        match answer {
            Ok(payload) => {
                let bytes = about.snapshot.payload_bytes();
                decision::queried(bytes, &arguments, &payload, endpoint.as_deref());
                let shown = if payload.answer.as_ref().is_some_and(|answer| answer.matches > 0) {
                    Request { cursor: None, path: None, section: None, ..request.clone() }
                } else {
                    // Nothing has no fields, and no order.
                    let Request { limit, max_tokens, .. } = *request;
                    Request { limit, max_tokens, ..Request::default() }
                };
                self.fresh(caller.clone(), endpoint, payload, shown, None).await
            }
            Err(fault) => {
                let fault = fault.with_cursor(Some(self.renderer.handle(&about)));
                self.refuse(fault, &caller.terms, request, endpoint.as_deref())
            }
        }
    }

    /// What the cursor of a request points to.
    async fn held(
        &self,
        caller: &Caller,
        endpoint: Option<&Endpoint>,
        request: &Request,
    ) -> Result<(Held, Position), Fault> {
        let Some(token) = &request.cursor else {
            return Err(Fault::cursor_invalid("no cursor was given", endpoint));
        };
        let pointer = self.renderer.keyring.verify(token, &caller.scope);
        let pointer = pointer.map_err(|invalid| Fault::cursor_invalid(invalid.to_string(), endpoint))?;
        let found = self.store.find(&caller.scope, pointer.snapshot, pointer.view, (self.clock)()).await;
        Err(match found {
            Ok(held) => return Ok((held, pointer.position)),
            Err(Missing::View { root }) => {
                let Held { id, snapshot, .. } = *root;
                let (base, request, form) = (None, Request::default(), Form::Text);
                let whole = Job { caller: caller.clone(), id, snapshot, base, request, form };
                Fault::view_expired(self.renderer.handle(&whole), &whole.caller.read_tool)
            }
            Err(Missing::Gone { endpoint: source }) => Fault::cursor_expired(source.as_deref().or(endpoint)),
            Err(Missing::Unknown) => Fault::cursor_expired(endpoint),
            Err(Missing::Unreachable(why)) => {
                tracing::error!(why, "a snapshot was not found");
                Fault::store_unavailable(endpoint)
            }
        })
    }

    /// The reply of a snapshot that is kept.
    async fn serve(&self, job: Job, endpoint: Option<&Endpoint>) -> Reply {
        let job = Arc::new(job);
        let rendered = self.render(&job, true).await;
        let kept = match &rendered {
            Rendered::Portion(_, view) => {
                is_kept(&self.store.keep_view(&job.caller.scope, job.id, view.clone(), (self.clock)()).await)
            }
            _ => true,
        };
        self.conclude(job, rendered, kept, endpoint).await
    }

    /// The reply to what was rendered in the hope that it would be kept.
    async fn conclude(
        &self,
        job: Arc<Job>,
        rendered: Rendered,
        kept: bool,
        endpoint: Option<&Endpoint>,
    ) -> Reply {
        let rendered = match rendered {
            Rendered::Portion(..) if !kept => self.render(&job, false).await,
            rendered => rendered,
        };
        let handle = || kept.then(|| self.renderer.handle(&job));
        let fault = match rendered {
            Rendered::Untouched => {
                decision::untouched(job.snapshot.payload_bytes(), endpoint);
                return Reply::Untouched;
            }
            Rendered::Portion(portion, _) => {
                decision::portion(job.snapshot.payload_bytes(), &portion, endpoint);
                return Reply::Portion(portion);
            }
            Rendered::Wrong(error) => Fault::from(error).with_cursor(handle()),
            Rendered::Failed => Fault::not_rendered(handle(), &job.caller.read_tool),
        };
        self.refuse(fault, &job.caller.terms, &job.request, endpoint)
    }

    async fn render(&self, job: &Arc<Job>, kept: bool) -> Rendered {
        let (renderer, job) = (Arc::clone(&self.renderer), Arc::clone(job));
        aside(job.snapshot.payload_bytes(), move || renderer.render(&job, kept)).await
    }
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
