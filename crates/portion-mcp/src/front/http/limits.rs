//! Limits of one HTTP listener.

use portion_gateway::overload::OverloadLimit;
use portion_net::serve::ServeLimits;

/// Limits of one HTTP listener.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Limits of connections. The stall timeout is also that of bodies.
    pub connections: ServeLimits,
    /// Bytes of a request body.
    pub max_body_bytes: usize,
    /// Total bytes of the bodies of all unanswered requests.
    pub max_total_body_bytes: usize,
    /// Load of this process beyond which requests that begin work are rejected; `None`: they are not.
    pub overload: Option<OverloadLimit>,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: ServeLimits::default(),
            max_body_bytes: 64 << 20,
            max_total_body_bytes: 72 << 20,
            overload: None,
        }
    }
}

impl HttpLimits {
    /// Sets the limit of a body, and the total to an eighth more: clients that never finish their bodies make the process hold
    /// little more than one body of that size.
    #[must_use]
    pub fn with_max_body_bytes(self, body: usize) -> Self {
        Self { max_body_bytes: body, max_total_body_bytes: body.saturating_add(body / 8), ..self }
    }
}
