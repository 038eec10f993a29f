//! A post and what the server says of it, for as long as the client waits.
//!
//! The client's going is a cancellation: then this is dropped, and the server hears of it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;

use super::trunk::Trunk;
use crate::bridge::reply::{Piece, Source, Taken};
use crate::frame::Frame;
use crate::mcp::McpLane;
use crate::relay::{Lane as _, Outgoing};

/// A post that waits.
pub(super) struct Exchange {
    trunk: Arc<Trunk>,
    lane: McpLane,
    post: u64,
    hears: mpsc::Receiver<Result<Frame, String>>,
    /// What was heard and not yet dealt with.
    heard: Option<Heard>,
    pieces: VecDeque<Piece>,
    state: State,
}

/// What a post hears.
enum Heard {
    Said(Frame),
    /// The server has been silent for too long.
    Expired(Vec<Outgoing>),
    /// Nothing follows, for this reason.
    Gone(String),
    CutOff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Answered,
    /// It reads so slowly that what others wait for would have to wait for it.
    CutOff,
}

impl Exchange {
    /// The post of this number on a trunk.
    pub(super) fn new(
        trunk: &Arc<Trunk>,
        lane: McpLane,
        post: u64,
        hears: mpsc::Receiver<Result<Frame, String>>,
    ) -> Self {
        let (trunk, pieces) = (Arc::clone(trunk), VecDeque::new());
        Self { trunk, lane, post, hears, heard: None, pieces, state: State::Waiting }
    }

    /// Carries what was posted to the server.
    pub(super) async fn say(&mut self, text: &str) {
        let said = self.lane.from_client(Frame::Message(text.as_bytes().to_vec())).await;
        self.carry(said).await;
    }

    async fn carry(&mut self, said: Vec<Outgoing>) {
        for said in said {
            match said {
                Outgoing::ToClient(data) => {
                    // One request was posted: once none waits, this answers it.
                    let answer = self.lane.pending() == 0;
                    if answer {
                        self.state = State::Answered;
                    }
                    self.pieces.push_back(Piece { id: None, data: data.into(), answer });
                }
                Outgoing::ToServer(message) | Outgoing::Question(message) => {
                    self.trunk.send(self.post, message).await;
                }
            }
        }
    }
}

impl Source for Exchange {
    async fn wait(&mut self) {
        if self.pieces.is_empty() && self.heard.is_none() && self.state == State::Waiting {
            self.heard = Some(tokio::select! {
                said = self.hears.recv() => match said {
                    Some(Ok(frame)) => Heard::Said(frame),
                    Some(Err(why)) => Heard::Gone(why),
                    None => Heard::CutOff,
                },
                said = self.lane.expired() => Heard::Expired(said),
            });
        }
    }

    async fn take(&mut self) -> Taken {
        if self.pieces.is_empty() && self.state == State::Waiting {
            match self.heard.take() {
                Some(Heard::Said(frame)) => {
                    let said = self.lane.from_server(frame).await;
                    self.carry(said).await;
                }
                Some(Heard::Expired(mut said)) => {
                    // The server hears of it when this is dropped.
                    said.retain(|said| matches!(said, Outgoing::ToClient(_)));
                    self.carry(said).await;
                }
                Some(Heard::Gone(why)) => {
                    let said = self.lane.server_gone(&why);
                    self.carry(said).await;
                    self.state = State::Answered;
                }
                Some(Heard::CutOff) => self.state = State::CutOff,
                None => {}
            }
        }
        match (self.pieces.pop_front(), self.state) {
            (Some(piece), _) => Taken::Piece(piece),
            (None, State::Waiting) => Taken::Nothing,
            (None, State::Answered) => Taken::End,
            (None, State::CutOff) => Taken::Broken("the client reads too slowly"),
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.trunk.leave(self.post, Instant::now());
    }
}
