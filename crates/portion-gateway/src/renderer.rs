//! Capturing and rendering behind a net: whatever the core does, a reply comes out, and never a larger one.
//!
//! The core is made not to panic. If it does all the same, rendering is tried once more with the plainest
//! counter and the fallback limits; if that fails too, there is a fault instead. The upstream is not asked again.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use portion_core::cursor::{CursorTarget, CursorToken, Keyring, Position, SnapshotId};
use portion_core::payload::{Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::{self, Context, FirstReply, Portion};
use portion_core::snapshot::{self, Snapshot};
use portion_core::tokens::{BYTE_COUNTER, TokenCounter};
use portion_core::view::{self, Request, View, ViewError};

use crate::accuracy::CountSample;
use crate::accuracy::texts::ReplyTexts;
use crate::call::{Caller, Fault, SnapshotQuery};
use crate::effective_policy::EffectivePolicy;

/// Renders, and signs the cursors.
pub(crate) struct Renderer {
    pub(crate) keyring: Keyring,
}

/// One reply to be rendered.
#[derive(Clone, Debug)]
pub(crate) struct RenderJob {
    pub(crate) caller: Caller,
    pub(crate) snapshot_id: SnapshotId,
    pub(crate) snapshot: Arc<Snapshot>,
    /// The view and place of the request's cursor.
    pub(crate) base: Option<(View, Position)>,
    pub(crate) request: Request,
    pub(crate) form: ReplyForm,
}

impl RenderJob {
    /// The answer to a question about what the request points to.
    ///
    /// # Errors
    /// What is wrong with the question, or with where it points.
    pub(crate) fn run_query(&self, ask: &SnapshotQuery) -> Result<Payload, Fault> {
        let Request { path, section, fields, .. } = self.request.clone();
        let base = self.base.as_ref().map(|(view, position)| (view, *position));
        let resolve =
            |request| view::resolve(&self.snapshot, base, &request, &self.caller.effective_policy.policy);
        let place = Request { path, section, ..Request::default() };
        let known = fields.is_some() && resolve(Request { fields, ..place.clone() }).is_ok();
        let mut payload =
            ask.run_until_cancelled(&self.snapshot, &resolve(place)?.view, &self.caller.cancel_flag)?;
        if let Some(answer) = &mut payload.query_answer {
            answer.has_known_fields = known;
        }
        Ok(payload)
    }
}

/// In which form a reply is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyForm {
    /// As the upstream gave it, untouched if it is small.
    AsReceived,
    /// As the upstream gave it; what it said is no longer at hand to be passed on untouched.
    Rebuilt,
    /// As text alone.
    TextOnly,
}

/// What became of a [`RenderJob`].
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each reply, and taken apart at once")]
pub(crate) enum RenderOutcome {
    /// As it came, for so many tokens, where somebody counted them.
    Untouched { tokens: Option<usize>, capped: bool, audit: Option<CountSample> },
    /// A portion, and the view that its cursors go through. `capped`: it was made within the fallback limits. `audit`: what
    /// the attempt that the counter decided really came to, where that was to be found out at once.
    Portion { portion: Portion, view: View, capped: bool, audit: Option<CountSample> },
    /// The request does not fit the payload.
    InvalidRequest(ViewError),
    /// It panicked, twice.
    Panicked,
}

/// A payload that could not be captured: its size in bytes, and its first text.
#[derive(Debug)]
pub(crate) struct CaptureFailure {
    pub(crate) payload_bytes: usize,
    pub(crate) first_text: String,
}

/// Captures a payload, without what the terms hide of it unless it says otherwise itself.
pub(crate) fn capture(mut payload: Payload, terms: &EffectivePolicy) -> Result<Snapshot, CaptureFailure> {
    let bytes = payload_bytes(&payload);
    payload.redaction_rules = payload.redaction_rules.or_else(|| terms.redact.clone());
    if payload.query_answer.is_none() {
        payload.list_path = payload.list_path.or_else(|| terms.policy.render_options.list_path.clone());
    }
    let items = payload.list_path.clone();
    // In JSON, text can take twice its bytes, and more only where it is hardly text.
    let most = terms.policy.fallback_byte_limit / 2;
    // What was to be hidden cannot be told apart here.
    let told = payload.blocks.iter().filter(|_| payload.redaction_rules.is_none());
    let first = told.map(|block| content_text(&block.content)).find(|text| !text.is_empty());
    let beginning = first.map_or(String::new(), |text| text[..text.floor_char_boundary(most)].to_owned());
    let snapshot = catch_unwind(AssertUnwindSafe(|| snapshot::capture(payload)));
    if let Some(items) = items.filter(|_| snapshot.as_ref().is_ok_and(Snapshot::has_missing_list_path)) {
        warn_items_missing(&items);
    }
    snapshot.map_err(|_| CaptureFailure { payload_bytes: bytes, first_text: beginning })
}

/// Says, once for each path, that there is no list where the operator says that it is.
fn warn_items_missing(items: &Arc<str>) {
    static TOLD: Mutex<BTreeSet<Arc<str>>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::clone(items)) {
        tracing::warn!(%items, "no list is at `items` in a result; it is looked for instead");
    }
}

impl Renderer {
    /// Renders a reply. `kept`: its cursors will find something; without, it has none.
    pub(crate) fn render(&self, job: &RenderJob, kept: bool) -> RenderOutcome {
        let terms = &*job.caller.effective_policy;
        let attempted = |policy, counter| self.attempt_caught(job, kept, policy, counter);
        let first = if terms.is_capped { None } else { attempted(&terms.policy, terms.counter) };
        let audit = first.as_ref().and_then(|rendered| audit_rendering(job, rendered));
        let full_below = terms.policy.full_below;
        if let Some(rendered) = first
            && !audit.is_some_and(|sample| sample.is_far_too_low() && sample.actual > full_below)
        {
            return rendered.with_audit(false, audit);
        }
        attempted(&terms.fallback, BYTE_COUNTER)
            .map_or(RenderOutcome::Panicked, |rendered| rendered.with_audit(true, audit))
    }

    /// `None` where it panicked.
    fn attempt_caught(
        &self,
        job: &RenderJob,
        kept: bool,
        policy: &Policy,
        counter: &dyn TokenCounter,
    ) -> Option<RenderOutcome> {
        let attempt = AssertUnwindSafe(|| self.attempt(job, kept, policy, counter));
        let rendered = catch_unwind(attempt).ok();
        if rendered.is_none() {
            tracing::error!(counter = counter.name(), "rendering panicked");
        }
        rendered
    }

    fn attempt(
        &self,
        job: &RenderJob,
        kept: bool,
        policy: &Policy,
        counter: &dyn TokenCounter,
    ) -> RenderOutcome {
        let base = job.base.as_ref().map(|(view, position)| (view, *position));
        let asked = match view::resolve(&job.snapshot, base, &job.request, policy) {
            Ok(asked) => view::rank(&job.snapshot, asked, policy, counter),
            Err(error) => return RenderOutcome::InvalidRequest(error),
        };
        let mint = |position| kept.then(|| self.sign_cursor(job, &asked.view, position));
        let Caller { read_tool, query_tool, read_uri, .. } = &job.caller;
        let query_tool = query_tool.as_deref().filter(|_| policy.render_options.techniques.query);
        let read_uri = *read_uri;
        let cx = Context { policy, counter, mint_cursor: &mint, read_tool, query_tool, read_uri };
        let portion = match job.form {
            ReplyForm::TextOnly => render::follow_up_reply(&job.snapshot, &asked, &cx),
            form => match (render::first_reply(&job.snapshot, &asked, &cx), form) {
                (FirstReply::Portion(portion), _) => portion,
                (FirstReply::Untouched { tokens }, ReplyForm::AsReceived) => {
                    return RenderOutcome::Untouched { tokens, capped: false, audit: None };
                }
                (FirstReply::Untouched { .. }, _) => render::follow_up_reply(&job.snapshot, &asked, &cx),
            },
        };
        let view = render::view_with_pagination(asked.view, &portion);
        RenderOutcome::Portion { portion, view, capped: false, audit: None }
    }

    /// The cursor to where a job set out: its own, or the start of everything.
    pub(crate) fn start_cursor(&self, job: &RenderJob) -> CursorToken {
        match &job.base {
            Some((view, position)) => self.sign_cursor(job, view, *position),
            None => self.sign_cursor(job, &View::root(), Position::default()),
        }
    }

    fn sign_cursor(&self, job: &RenderJob, view: &View, position: Position) -> CursorToken {
        self.keyring
            .sign(&CursorTarget { snapshot: job.snapshot_id, view: view.id(), position }, &job.caller.scope)
    }
}

impl RenderOutcome {
    fn with_audit(self, capped: bool, audit: Option<CountSample>) -> Self {
        match self {
            Self::Untouched { tokens, .. } => Self::Untouched { tokens, capped, audit },
            Self::Portion { portion, view, .. } => Self::Portion { portion, view, capped, audit },
            other => other,
        }
    }
}

/// What a reply really costs, where its counter looks at the length alone.
fn audit_rendering(job: &RenderJob, rendered: &RenderOutcome) -> Option<CountSample> {
    let terms = &job.caller.effective_policy;
    let reference = terms.reference.filter(|_| terms.audits_counts)?;
    let texts = match rendered {
        RenderOutcome::Portion { portion, .. } => ReplyTexts::from_portion(portion),
        RenderOutcome::Untouched { .. } => ReplyTexts::from_snapshot(&job.snapshot, &terms.policy),
        RenderOutcome::InvalidRequest(_) | RenderOutcome::Panicked => return None,
    };
    catch_unwind(AssertUnwindSafe(|| texts.sample(terms.counter, reference))).ok()
}

/// Bytes of what an upstream said.
pub(crate) fn payload_bytes(payload: &Payload) -> usize {
    payload.blocks.iter().map(|block| content_text(&block.content).len()).sum()
}

fn content_text(content: &Content) -> &str {
    match content {
        Content::Text(text) | Content::Structured(text) | Content::Extra(text) => text,
        Content::Atomic { json, .. } => json,
    }
}
