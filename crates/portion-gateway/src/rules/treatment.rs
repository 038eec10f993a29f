//! Whether replies are shaped for a session: not where an endpoint is being rolled out to others first, not in the other
//! arm of an experiment, not in a dry run.
//!
//! A session is always dealt the same: what decides is a hash of it, which a larger share only adds sessions to.

use portion_core::event::Arm;

use super::Rule;
use crate::book::{Experiment, Rollout, Written};
use crate::session::Session;

/// What is done with the replies of an endpoint in one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Treatment {
    /// Set where they are relayed as they come.
    pub relayed: Option<Relayed>,
    /// The arm that the session is in, where there is an experiment.
    pub arm: Option<Arm>,
}

/// How replies are relayed that are not shaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relayed {
    /// Bytes of a payload above which it is shaped all the same.
    pub limit: Option<usize>,
    /// Whether it is told what shaping would have made of them.
    pub shadow: bool,
}

impl Rule {
    /// Whether our controls are taken on calls of the endpoint itself; `None` where its schema decides. Where replies are
    /// relayed, none are but those that were advertised before.
    pub fn controls(&self, treatment: Treatment) -> Option<bool> {
        if treatment.relayed.is_some() { Some(false) } else { self.written.controls }
    }

    /// Whether replies are shaped in any session.
    pub fn shapes_some(&self) -> bool {
        let Written { rollout, experiment, dry_run, .. } = &self.written;
        !dry_run && rollout.percent > 0.0 && *experiment != Experiment::Shadow
    }

    /// What is done with the endpoint's replies in a session.
    pub fn treatment(&self, session: &Session) -> Treatment {
        let Written { rollout, experiment, unshaped_byte_limit: limit, dry_run, .. } = &self.written;
        let relayed = |shadow| Some(Relayed { limit: *limit, shadow });
        if *dry_run {
            return Treatment { relayed: Some(Relayed { limit: None, shadow: true }), arm: None };
        }
        if !is_in(session, "rollout", rollout) {
            return Treatment { relayed: relayed(false), arm: None };
        }
        match experiment {
            Experiment::None => Treatment::default(),
            Experiment::Shadow => Treatment { relayed: relayed(true), arm: Some(Arm::Unshaped) },
            Experiment::Split(split) if is_in(session, "split", split) => {
                Treatment { relayed: None, arm: Some(Arm::Shaped) }
            }
            Experiment::Split(_) => Treatment { relayed: relayed(false), arm: Some(Arm::Unshaped) },
        }
    }
}

fn is_in(session: &Session, purpose: &str, rollout: &Rollout) -> bool {
    let Rollout { percent, salt } = rollout;
    // Nearly always it is everybody, and then nothing need be worked out.
    *percent >= 100.0 || (*percent > 0.0 && session.lot(purpose, salt) * 100.0 < *percent)
}
