//! Groups sessions by arm and computes the measures.

use std::collections::BTreeMap;

use portion_core::event::ExperimentArm;

use super::measure::{Measure, Measured, Verdict};
use super::session::{PairedSums, Session};
use super::{ArmSize, Design};
use crate::record::Record;
use crate::statistics::{Estimate, Share, mean, mean_difference, share_difference};

/// Sessions by arm. Requests of a shadow experiment belong to the unshaped arm.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    shaped: BTreeMap<u64, Session>,
    unshaped: BTreeMap<u64, Session>,
}

impl Sessions {
    pub(super) fn add(&mut self, record: &Record) {
        let is_shaped =
            record.shadow.is_none() && record.arm.as_deref() == Some(ExperimentArm::Shaped.name());
        let arm = if is_shaped { &mut self.shaped } else { &mut self.unshaped };
        arm.entry(record.session).or_default().add(record);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shaped.is_empty() && self.unshaped.is_empty()
    }

    /// Returns the size of each arm, the shaped one first. In a shadow experiment both are the same.
    pub(super) fn sizes(&self, design: Design) -> (ArmSize, ArmSize) {
        let size = |sessions: &BTreeMap<u64, Session>| ArmSize {
            requests: sessions.values().map(|session| session.requests).sum(),
            sessions: sessions.len() as u64,
        };
        let unshaped = size(&self.unshaped);
        (if design == Design::Shadow { unshaped } else { size(&self.shaped) }, unshaped)
    }

    pub(super) fn measures(&self, design: Design) -> Vec<Measured> {
        let measured = |measure| match design {
            Design::Split => Some(self.split(measure)),
            Design::Shadow => self.shadow(measure),
        };
        Measure::ALL.into_iter().filter_map(measured).collect()
    }

    fn split(&self, measure: Measure) -> Measured {
        let of_session: fn(&Session) -> Option<f64> = match measure {
            Measure::Tokens => |session| session.tokens.mean(),
            Measure::TokensPerCall => |session| {
                let counted = session.tokens.count == session.requests;
                (counted && session.first() > 0).then(|| session.tokens.total / session.first() as f64)
            },
            Measure::Bytes => |session| session.bytes.mean(),
            Measure::Latency => |session| session.latency.mean(),
            Measure::Overhead => |session| session.overhead.mean(),
            Measure::FollowUps => {
                |session| (session.first() > 0).then(|| session.follow_ups as f64 / session.first() as f64)
            }
            Measure::Errors => return self.shares(measure, |session| (session.errors, session.requests)),
            Measure::Finished => return self.shares(measure, |session| (u64::from(session.finished()), 1)),
        };
        let sample = |sessions: &BTreeMap<u64, Session>| -> Vec<f64> {
            sessions.values().filter_map(of_session).collect()
        };
        let (shaped, unshaped) = (sample(&self.shaped), sample(&self.unshaped));
        let difference = mean_difference(&shaped, &unshaped);
        Measured {
            measure,
            shaped: mean(&shaped),
            unshaped: mean(&unshaped),
            difference,
            verdict: Verdict::on(difference, shaped.len().min(unshaped.len())),
        }
    }

    fn shares(&self, measure: Measure, counts: fn(&Session) -> (u64, u64)) -> Measured {
        let share = |sessions: &BTreeMap<u64, Session>| Share::of(sessions.values().map(counts));
        let (shaped, unshaped) = (share(&self.shaped), share(&self.unshaped));
        let difference = shaped.zip(unshaped).map(|(shaped, unshaped)| share_difference(shaped, unshaped));
        Measured {
            measure,
            shaped: shaped.map(Share::estimate),
            unshaped: unshaped.map(Share::estimate),
            difference,
            verdict: Verdict::on(difference, self.shaped.len().min(self.unshaped.len())),
        }
    }

    /// Compares recorded replies with their shadow replies, session by session. Follow-ups that a caller would have
    /// sent are not known.
    fn shadow(&self, measure: Measure) -> Option<Measured> {
        let pairs: fn(&Session) -> &PairedSums = match measure {
            Measure::Tokens => |session| &session.shadow.tokens,
            Measure::Bytes => |session| &session.shadow.bytes,
            Measure::Overhead => |session| &session.shadow.overhead,
            _ => return None,
        };
        let means = |session| {
            let PairedSums { served, tried } = pairs(session);
            served.mean().zip(tried.mean())
        };
        let (served, tried): (Vec<f64>, Vec<f64>) = self.unshaped.values().filter_map(means).unzip();
        let apart: Vec<f64> = tried.iter().zip(&served).map(|(tried, served)| tried - served).collect();
        let difference: Option<Estimate> = mean(&apart);
        let verdict = Verdict::on(difference, apart.len());
        Some(Measured { measure, shaped: mean(&tried), unshaped: mean(&served), difference, verdict })
    }
}
