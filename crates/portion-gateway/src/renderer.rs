//! Capturing and rendering behind a net: whatever the core does, a reply comes out, and never a larger one.
//!
//! The core is made not to panic. If it does all the same, rendering is tried once more with the plainest
//! counter and the fallback limits; if that fails too, there is a fault instead. The upstream is not asked again.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use portion_core::cursor::{CursorToken, Keyring, Pointer, Position, SnapshotId};
use portion_core::payload::{Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::{self, Context, First, Portion};
use portion_core::snapshot::{self, Snapshot};
use portion_core::tokens::{BYTES, TokenCounter};
use portion_core::view::{self, Request, View, ViewError};

use crate::accuracy::Sample;
use crate::accuracy::texts::Texts;
use crate::call::{Ask, Caller, Fault};
use crate::terms::Terms;

/// Renders, and signs the cursors.
pub(crate) struct Renderer {
    pub(crate) keyring: Keyring,
}

/// One reply to be rendered.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) caller: Caller,
    pub(crate) id: SnapshotId,
    pub(crate) snapshot: Arc<Snapshot>,
    /// The view and place of the request's cursor.
    pub(crate) base: Option<(View, Position)>,
    pub(crate) request: Request,
    pub(crate) form: Form,
}

impl Job {
    /// The answer to a question about what the request points to.
    ///
    /// # Errors
    /// What is wrong with the question, or with where it points.
    pub(crate) fn answer(&self, ask: &Ask) -> Result<Payload, Fault> {
        let Request { path, section, fields, .. } = self.request.clone();
        let base = self.base.as_ref().map(|(view, position)| (view, *position));
        let resolve = |request| view::resolve(&self.snapshot, base, &request, &self.caller.terms.policy);
        let place = Request { path, section, ..Request::default() };
        let known = fields.is_some() && resolve(Request { fields, ..place.clone() }).is_ok();
        let mut payload = ask.answer_until(&self.snapshot, &resolve(place)?.view, &self.caller.stop)?;
        if let Some(answer) = &mut payload.answer {
            answer.fields_known = known;
        }
        Ok(payload)
    }
}

/// In which form a reply is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As the upstream gave it, untouched if it is small.
    Fresh,
    /// As the upstream gave it; what it said is no longer at hand to be passed on untouched.
    Again,
    /// As text alone.
    Text,
}

/// What became of a [`Job`].
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each reply, and taken apart at once")]
pub(crate) enum Rendered {
    /// As it came, for so many tokens, where somebody counted them.
    Untouched { tokens: Option<usize>, capped: bool, audit: Option<Sample> },
    /// A portion, and the view that its cursors go through. `capped`: it was made within the fallback limits. `audit`: what
    /// the attempt that the counter decided really came to, where that was to be found out at once.
    Portion { portion: Portion, view: View, capped: bool, audit: Option<Sample> },
    /// The request does not fit the payload.
    Wrong(ViewError),
    /// It panicked, twice.
    Failed,
}

/// A payload that could not be captured: its size in bytes, and its first text.
#[derive(Debug)]
pub(crate) struct Uncaptured {
    pub(crate) bytes: usize,
    pub(crate) beginning: String,
}

/// Captures a payload, without what the terms hide of it unless it says otherwise itself.
pub(crate) fn capture(mut payload: Payload, terms: &Terms) -> Result<Snapshot, Uncaptured> {
    let bytes = payload_bytes(&payload);
    payload.redact = payload.redact.or_else(|| terms.redact.clone());
    if payload.answer.is_none() {
        payload.items = payload.items.or_else(|| terms.policy.manner.items.clone());
    }
    let items = payload.items.clone();
    // In JSON, text can take twice its bytes, and more only where it is hardly text.
    let most = terms.policy.fallback_byte_limit / 2;
    // What was to be hidden cannot be told apart here.
    let told = payload.blocks.iter().filter(|_| payload.redact.is_none());
    let first = told.map(|block| text(&block.content)).find(|text| !text.is_empty());
    let beginning = first.map_or(String::new(), |text| text[..text.floor_char_boundary(most)].to_owned());
    let snapshot = catch_unwind(AssertUnwindSafe(|| snapshot::capture(payload)));
    if let Some(items) = items.filter(|_| snapshot.as_ref().is_ok_and(Snapshot::is_misled)) {
        warn_of(&items);
    }
    snapshot.map_err(|_| Uncaptured { bytes, beginning })
}

/// Says, once for each path, that there is no list where the operator says that it is.
fn warn_of(items: &Arc<str>) {
    static TOLD: Mutex<BTreeSet<Arc<str>>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(items)) {
        tracing::warn!(%items, "no list is at `items` in a result; it is looked for instead");
    }
}

impl Renderer {
    /// Renders a reply. `kept`: its cursors will find something; without, it has none.
    pub(crate) fn render(&self, job: &Job, kept: bool) -> Rendered {
        let terms = &*job.caller.terms;
        let attempted = |policy, counter| self.attempted(job, kept, policy, counter);
        let first = if terms.capped { None } else { attempted(&terms.policy, terms.counter) };
        let audit = first.as_ref().and_then(|rendered| audited(job, rendered));
        let full_below = terms.policy.full_below;
        if let Some(rendered) = first
            && !audit.is_some_and(|sample| sample.is_far_too_low() && sample.actual > full_below)
        {
            return rendered.with(false, audit);
        }
        attempted(&terms.fallback, BYTES).map_or(Rendered::Failed, |rendered| rendered.with(true, audit))
    }

    /// `None` where it panicked.
    fn attempted(
        &self,
        job: &Job,
        kept: bool,
        policy: &Policy,
        counter: &dyn TokenCounter,
    ) -> Option<Rendered> {
        let attempt = AssertUnwindSafe(|| self.attempt(job, kept, policy, counter));
        let rendered = catch_unwind(attempt).ok();
        if rendered.is_none() {
            tracing::error!(counter = counter.name(), "rendering panicked");
        }
        rendered
    }

    fn attempt(&self, job: &Job, kept: bool, policy: &Policy, counter: &dyn TokenCounter) -> Rendered {
        let base = job.base.as_ref().map(|(view, position)| (view, *position));
        let asked = match view::resolve(&job.snapshot, base, &job.request, policy) {
            Ok(asked) => view::rank(&job.snapshot, asked, policy, counter),
            Err(error) => return Rendered::Wrong(error),
        };
        let mint = |position| kept.then(|| self.sign(job, &asked.view, position));
        let Caller { read_tool, query_tool, read_uri, .. } = &job.caller;
        let query_tool = query_tool.as_deref().filter(|_| policy.manner.techniques.query);
        let read_uri = *read_uri;
        let cx = Context { policy, counter, mint: &mint, read_tool, query_tool, read_uri };
        let portion = match job.form {
            Form::Text => render::follow(&job.snapshot, &asked, &cx),
            form => match (render::first(&job.snapshot, &asked, &cx), form) {
                (First::Portion(portion), _) => portion,
                (First::Untouched { tokens }, Form::Fresh) => {
                    return Rendered::Untouched { tokens, capped: false, audit: None };
                }
                (First::Untouched { .. }, _) => render::follow(&job.snapshot, &asked, &cx),
            },
        };
        let view = render::at_pace(asked.view, &portion);
        Rendered::Portion { portion, view, capped: false, audit: None }
    }

    /// The cursor to where a job set out: its own, or the start of everything.
    pub(crate) fn handle(&self, job: &Job) -> CursorToken {
        match &job.base {
            Some((view, position)) => self.sign(job, view, *position),
            None => self.sign(job, &View::root(), Position::default()),
        }
    }

    fn sign(&self, job: &Job, view: &View, position: Position) -> CursorToken {
        self.keyring.sign(&Pointer { snapshot: job.id, view: view.id(), position }, &job.caller.scope)
    }
}

impl Rendered {
    fn with(self, capped: bool, audit: Option<Sample>) -> Self {
        match self {
            Self::Untouched { tokens, .. } => Self::Untouched { tokens, capped, audit },
            Self::Portion { portion, view, .. } => Self::Portion { portion, view, capped, audit },
            other => other,
        }
    }
}

/// What a reply really costs, where its counter looks at the length alone.
fn audited(job: &Job, rendered: &Rendered) -> Option<Sample> {
    let terms = &job.caller.terms;
    let reference = terms.reference.filter(|_| terms.audited)?;
    let texts = match rendered {
        Rendered::Portion { portion, .. } => Texts::of_portion(portion),
        Rendered::Untouched { .. } => Texts::of_payload(&job.snapshot, &terms.policy),
        Rendered::Wrong(_) | Rendered::Failed => return None,
    };
    catch_unwind(AssertUnwindSafe(|| texts.sample(terms.counter, reference))).ok()
}

/// Bytes of what an upstream said.
pub(crate) fn payload_bytes(payload: &Payload) -> usize {
    payload.blocks.iter().map(|block| text(&block.content).len()).sum()
}

fn text(content: &Content) -> &str {
    match content {
        Content::Text(text) | Content::Structured(text) | Content::Aside(text) => text,
        Content::Atomic { json, .. } => json,
    }
}
