//! Facts about a request that are one of a few values, and their names in logs, records and metrics.

use crate::error_code::ErrorCode;
use crate::named_choices::named_choices;

/// The outcome of a request. Paging and chunking exclude each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The reply is the whole payload, because it is small.
    #[default]
    Untouched,
    /// The reply is the whole payload, however large: shaping is off for it.
    Unshaped,
    /// A page of a list.
    Paginated,
    /// A summary.
    Summarized,
    /// A chunk or a range of text.
    Chunked,
    /// The answer to a query.
    Queried,
    /// Named fields, a section or a path.
    Projected,
    /// Bytes as the upstream wrote them.
    Raw,
    /// The byte limit decided, because counting failed or was badly wrong.
    Capped,
    /// The snapshot is no longer kept.
    Expired,
    /// Another error of Portion's own.
    Refused,
}

/// An arm of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExperimentArm {
    /// Replies are shaped.
    Shaped,
    /// Replies are relayed unchanged.
    Unshaped,
}

/// Kind of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointKind {
    /// Called; may have side effects.
    #[default]
    Tool,
    /// Read.
    Resource,
    /// Fetched as a prompt.
    Prompt,
}

/// Structure of a payload, by its first readable part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadForm {
    /// A list of items.
    List,
    /// A single object.
    Object,
    /// Lines of text.
    Text,
}

/// Error in place of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServedError {
    /// An error of Portion's own.
    Own(ErrorCode),
    /// An error of the upstream, passed on.
    Upstream,
}

impl Outcome {
    /// Returns true if the reply is the whole payload.
    pub fn is_payload(self) -> bool {
        matches!(self, Self::Untouched | Self::Unshaped)
    }
}

named_choices!(Outcome {
    Untouched = "untouched",
    Unshaped = "unshaped",
    Paginated = "paginated",
    Summarized = "summarized",
    Chunked = "chunked",
    Queried = "queried",
    Projected = "projected",
    Raw = "raw",
    Capped = "capped",
    Expired = "expired",
    Refused = "refused"
});
named_choices!(ExperimentArm { Shaped = "shaped", Unshaped = "unshaped" });
named_choices!(EndpointKind { Tool = "tool", Resource = "resource", Prompt = "prompt" });
named_choices!(PayloadForm { List = "list", Object = "object", Text = "text" });

impl ServedError {
    /// All errors.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Upstream).chain(ErrorCode::all().map(Self::Own))
    }

    /// Returns the error of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|error| error.name() == name)
    }

    /// Returns the name used in logs, records and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own(code) => code.name(),
            Self::Upstream => "upstream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_a_distinct_name() {
        for (at, outcome) in Outcome::ALL.into_iter().enumerate() {
            // Counters of outcomes are in this order.
            assert_eq!(outcome as usize, at);
            assert_eq!(Outcome::from_name(outcome.name()), Some(outcome));
        }
        assert_eq!(Outcome::ALL.len(), Outcome::Refused as usize + 1);
        assert_eq!(
            ExperimentArm::ALL.map(|arm| ExperimentArm::from_name(arm.name())),
            ExperimentArm::ALL.map(Some)
        );
        assert_eq!((Outcome::from_name("Paginated"), ExperimentArm::from_name("")), (None, None));
    }

    #[test]
    fn facts_are_found_by_their_names() {
        assert_eq!(
            EndpointKind::ALL.map(|kind| EndpointKind::from_name(kind.name())),
            EndpointKind::ALL.map(Some)
        );
        for form in [PayloadForm::List, PayloadForm::Object, PayloadForm::Text] {
            assert_eq!(PayloadForm::from_name(form.name()), Some(form));
        }
        for error in ServedError::all() {
            assert_eq!(ServedError::from_name(error.name()), Some(error));
        }
        assert_eq!(
            (EndpointKind::from_name("route"), PayloadForm::from_name(""), ServedError::from_name("down")),
            (None, None, None)
        );
    }
}
