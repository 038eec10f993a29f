//! Captures and renders with fallbacks: whatever the core does, there is a reply, and it never grows.
//!
//! The core is designed not to panic. If it panics nevertheless, rendering is repeated with the simplest
//! counter and the fallback limits; if that fails too, the reply is a fault. The upstream is not asked again.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use portion_core::cursor::{CursorTarget, CursorToken, Keyring, Position, SnapshotId};
use portion_core::payload::{Content, Payload};
use portion_core::policy::Policy;
use portion_core::ranking::rank;
use portion_core::render::{self, Context, FirstReply, Portion};
use portion_core::snapshot::{self, Snapshot};
use portion_core::view::{self, Request, View, ViewError};
use portion_tokens::{BYTE_COUNTER, TokenCounter};

use crate::accuracy::CountSample;
use crate::accuracy::texts::ReplyTexts;
use crate::call::{Caller, Fault, ReadCall, SnapshotQuery};
use crate::effective_policy::EffectivePolicy;
use crate::snapshot_query::JoinedSnapshot;

/// Renders replies and signs cursors.
pub(crate) struct Renderer {
    pub(crate) keyring: Keyring,
}

/// A reply to be rendered.
#[derive(Clone)]
pub(crate) struct RenderJob {
    pub(crate) caller: Caller,
    pub(crate) snapshot_id: SnapshotId,
    pub(crate) snapshot: Arc<Snapshot>,
    /// View and position of the request's cursor.
    pub(crate) base: Option<(View, Position)>,
    pub(crate) request: Request,
    pub(crate) form: ReplyForm,
}

impl RenderJob {
    /// Runs a query on the content that the request selects.
    ///
    /// # Errors
    /// An invalid query or selection.
    pub(crate) fn run_query(&self, ask: &SnapshotQuery, joined: &[JoinedSnapshot]) -> Result<Payload, Fault> {
        let Request { path, section, fields, .. } = self.request.clone();
        let base = self.base.as_ref().map(|(view, position)| (view, *position));
        let resolve =
            |request| view::resolve(&self.snapshot, base, &request, &self.caller.effective_policy.policy);
        let place = Request { path, section, ..Request::default() };
        let known = fields.is_some() && resolve(Request { fields, ..place.clone() }).is_ok();
        let section = place.section.clone();
        let (view, caller) = (resolve(place)?.view, &self.caller);
        if let Some((section, lines)) = section.zip(view.section_lines()) {
            return Err(ViewError::SectionOfQuery { section, lines }.into());
        }
        let mut payload = ask.run_until_cancelled(
            &self.snapshot,
            &view,
            joined,
            &caller.cancel_flag,
            caller.read_call.to_follow_up(),
        )?;
        if let Some(answer) = &mut payload.query_answer {
            answer.has_known_fields = known;
        }
        Ok(payload)
    }

    /// Returns the query that answers the request for fields or an order of a text; see [`SnapshotQuery::for_text`].
    pub(crate) fn query_for_text(&self, error: ViewError) -> Result<SnapshotQuery, ViewError> {
        let base = self.base.as_ref().map(|(view, position)| (view, *position));
        let policy = &self.caller.effective_policy.policy;
        SnapshotQuery::for_text(&self.snapshot, base, &self.request, policy, error)
    }
}

/// Form of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyForm {
    /// The upstream's form, untouched if it is small.
    AsReceived,
    /// The upstream's form, but the original response is no longer available to pass on.
    Rebuilt,
    /// Text only.
    TextOnly,
}

/// Result of a [`RenderJob`].
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each reply, and taken apart at once")]
pub(crate) enum RenderOutcome {
    /// Unchanged, with its tokens if they were counted.
    Untouched { tokens: Option<usize>, capped: bool, audit: Option<CountSample> },
    /// A portion, and the view of its cursors. `capped`: rendered within the fallback limits. `audit`: the
    /// actual cost of the attempt with the policy's counter, if it was checked at once.
    Portion { portion: Portion, view: View, capped: bool, audit: Option<CountSample> },
    /// The request does not fit the payload.
    InvalidRequest(ViewError),
    /// Rendering panicked twice.
    Panicked,
}

/// A payload that could not be captured: its size in bytes, and its first text.
#[derive(Debug)]
pub(crate) struct CaptureFailure {
    pub(crate) payload_bytes: usize,
    pub(crate) first_text: String,
}

/// Captures a payload, redacted by the policy unless the payload has redaction rules of its own.
pub(crate) fn capture(
    mut payload: Payload,
    effective_policy: &EffectivePolicy,
) -> Result<Snapshot, CaptureFailure> {
    let bytes = payload_bytes(&payload);
    if payload.redaction_rules.is_none() {
        payload.redaction_rules = effective_policy.redact.clone().map(|redact| redact as _);
    }
    if payload.query_answer.is_none() {
        payload.list_path =
            payload.list_path.or_else(|| effective_policy.policy.render_options.list_path.clone());
        payload.missing_codes = effective_policy.policy.render_options.missing_codes.clone();
    }
    let items = payload.list_path.clone();
    // In JSON, text can take twice its bytes, and more only if it is hardly text.
    let max = effective_policy.policy.fallback_byte_limit / 2;
    // Secrets cannot be recognized here, so payloads with redaction rules show nothing.
    let visible = payload.blocks.iter().filter(|_| payload.redaction_rules.is_none());
    let first = visible.map(|block| content_text(&block.content)).find(|text| !text.is_empty());
    let beginning = first.map_or(String::new(), |text| text[..text.floor_char_boundary(max)].to_owned());
    let snapshot = catch_unwind(AssertUnwindSafe(|| snapshot::capture(payload)));
    if let Some(items) = items.filter(|_| snapshot.as_ref().is_ok_and(Snapshot::has_missing_list_path)) {
        warn_items_missing(&items);
    }
    snapshot.map_err(|_| CaptureFailure { payload_bytes: bytes, first_text: beginning })
}

/// Warns, once per path, that there is no list at the configured path.
fn warn_items_missing(items: &Arc<str>) {
    static TOLD: Mutex<BTreeSet<Arc<str>>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().insert(Arc::clone(items)) {
        tracing::warn!(%items, "a result has no list at the configured `items`; it is detected instead");
    }
}

impl Renderer {
    /// Renders a reply. `stored`: its snapshot is stored, so it may have cursors.
    pub(crate) fn render(&self, job: &RenderJob, stored: bool) -> RenderOutcome {
        let effective_policy = &*job.caller.effective_policy;
        let attempted = |policy: &Policy, counter: &dyn TokenCounter| {
            let attempt = AssertUnwindSafe(|| self.attempt(job, stored, policy, counter));
            let rendered = catch_unwind(attempt).ok();
            if rendered.is_none() {
                tracing::error!(counter = counter.name(), "rendering panicked");
            }
            rendered
        };
        let first = if effective_policy.is_capped {
            None
        } else {
            attempted(&effective_policy.policy, effective_policy.counter)
        };
        let audit = first.as_ref().and_then(|rendered| audit_rendering(job, rendered));
        let full_below = effective_policy.policy.full_below;
        if let Some(rendered) = first
            && !audit.is_some_and(|sample| sample.is_far_too_low() && sample.actual > full_below)
        {
            return rendered.with_audit(false, audit);
        }
        attempted(&effective_policy.fallback, BYTE_COUNTER)
            .map_or(RenderOutcome::Panicked, |rendered| rendered.with_audit(true, audit))
    }

    fn attempt(
        &self,
        job: &RenderJob,
        stored: bool,
        policy: &Policy,
        counter: &dyn TokenCounter,
    ) -> RenderOutcome {
        let base = job.base.as_ref().map(|(view, position)| (view, *position));
        let resolved = match view::resolve(&job.snapshot, base, &job.request, policy) {
            Ok(resolved) => {
                let resolved = resolved.with_unshown(job.caller.unshown.clone());
                rank(&job.snapshot, resolved, policy, counter)
            }
            Err(error) => return RenderOutcome::InvalidRequest(error),
        };
        let issue_cursor = |position| stored.then(|| self.sign_cursor(job, &resolved.view, position));
        let Caller { read_call, query_tool, read_uri, .. } = &job.caller;
        let query_tool = query_tool.as_deref().filter(|_| policy.render_options.techniques.query);
        let read_uri = *read_uri;
        let cx = Context {
            policy,
            counter,
            issue_cursor: &issue_cursor,
            read_call: read_call.to_follow_up(),
            query_tool,
            read_uri,
        };
        let portion = match job.form {
            ReplyForm::TextOnly => render::follow_up_reply(&job.snapshot, &resolved, &cx),
            form => match (render::first_reply(&job.snapshot, &resolved, &cx), form) {
                (FirstReply::Portion(portion), _) => portion,
                (FirstReply::Untouched { tokens }, ReplyForm::AsReceived) => {
                    return RenderOutcome::Untouched { tokens, capped: false, audit: None };
                }
                (FirstReply::Untouched { .. }, _) => render::follow_up_reply(&job.snapshot, &resolved, &cx),
            },
        };
        let view = render::view_with_pagination(resolved.view, &portion);
        RenderOutcome::Portion { portion, view, capped: false, audit: None }
    }

    /// Returns the cursor to the start of a job: its own base, or the start of the payload.
    pub(crate) fn start_cursor(&self, job: &RenderJob) -> CursorToken {
        match &job.base {
            Some((view, position)) => self.sign_cursor(job, view, *position),
            None => self.sign_cursor(job, &View::root(), Position::default()),
        }
    }

    fn sign_cursor(&self, job: &RenderJob, view: &View, position: Position) -> CursorToken {
        let target = CursorTarget { snapshot: job.snapshot_id, view: view.id(), position };
        let cursor = self.keyring.sign(&target, &job.caller.scope);
        match job.caller.read_call {
            ReadCall::Http(_) => cursor.as_base64url(),
            ReadCall::Tool(_) => cursor,
        }
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

/// Renders the whole payload of a job, without cursors. Returns `None` if that is not possible.
pub(crate) fn render_whole(job: &RenderJob) -> Option<FirstReply> {
    let EffectivePolicy { policy, counter, .. } = &*job.caller.effective_policy;
    let rendered = catch_unwind(AssertUnwindSafe(|| {
        let resolved = view::resolve(&job.snapshot, None, &job.request, policy).ok()?;
        let cx = Context {
            policy,
            counter: *counter,
            issue_cursor: &|_| None,
            read_call: job.caller.read_call.to_follow_up(),
            query_tool: None,
            read_uri: None,
        };
        render::whole_reply(&job.snapshot, &resolved, &cx)
    }));
    rendered.inspect_err(|_| tracing::error!("rendering a whole reply panicked")).ok().flatten()
}

/// Returns the actual cost of a reply, if its counter only uses the length.
fn audit_rendering(job: &RenderJob, rendered: &RenderOutcome) -> Option<CountSample> {
    let effective_policy = &job.caller.effective_policy;
    let reference = effective_policy.reference.filter(|_| effective_policy.audits_counts)?;
    let texts = match rendered {
        RenderOutcome::Portion { portion, .. } => ReplyTexts::from_portion(portion),
        RenderOutcome::Untouched { .. } => ReplyTexts::from_snapshot(&job.snapshot, &effective_policy.policy),
        RenderOutcome::InvalidRequest(_) | RenderOutcome::Panicked => return None,
    };
    catch_unwind(AssertUnwindSafe(|| texts.sample(effective_policy.counter, reference))).ok()
}

/// Returns the size of a payload in bytes.
pub(crate) fn payload_bytes(payload: &Payload) -> usize {
    payload_texts(payload).map(str::len).sum()
}

/// Yields the texts of a payload.
pub(crate) fn payload_texts(payload: &Payload) -> impl Iterator<Item = &str> {
    payload.blocks.iter().map(|block| content_text(&block.content))
}

fn content_text(content: &Content) -> &str {
    match content {
        Content::Text(text) | Content::Structured(text) | Content::Extra(text) => text,
        Content::Atomic { json, .. } => json,
    }
}
