//! A message that is posted, and everything that comes in answer to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::super::Closed;
use super::super::message::failure;
use super::backoff::{Backoff, Growth};
use super::letter::Letter;
use super::server::{Posted, Server};
use crate::frame::Frame;
use crate::upstream::http::{Answer, Item, Resume, Stream, Trouble};

/// How long to wait after a failure to resume a stream, at first.
const RETRY: Duration = Duration::from_secs(1);
/// How the wait grows before streams are resumed that end at once: somebody waits for the answer.
const RESUMED: Growth = Growth::up_to(Duration::from_secs(5));
/// How often in a row resuming may fail.
const ATTEMPTS: u32 = 4;
/// How long a stream may go on after its answer: read to its end, its connection serves the next request.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// A message on its way.
pub(super) struct Exchange {
    pub(super) server: Arc<Server>,
    pub(super) letter: Letter,
}

impl Exchange {
    /// Posts the message and passes on what comes. Every request gets one answer, from the server or from here, unless
    /// nobody wants it.
    pub(super) async fn run(self) {
        let posted = tokio::select! {
            () = self.letter.dropped.wait() => return,
            posted = self.server.post(&self.letter) => posted,
        };
        self.go_on(posted).await;
    }

    /// The same, where the message has been posted.
    pub(super) async fn go_on(self, posted: Result<Posted, Trouble>) {
        tokio::select! {
            () = self.letter.dropped.wait() => {}
            came = self.follow(posted) => {
                if let Err(trouble) = came {
                    self.fail(&trouble).await;
                }
            }
        }
    }

    async fn follow(&self, posted: Result<Posted, Trouble>) -> Result<(), Trouble> {
        let answer = match posted? {
            Posted::Answer(answer) => answer,
            Posted::NoSession(number, trouble) => self.again(number, trouble).await?,
        };
        match answer {
            Answer::Stream(stream) => return self.stream(stream).await,
            Answer::Json(json) => drop(self.server.heard(json, Some(&self.letter)).await),
            Answer::TooLarge(bytes) => drop(self.server.heard_too_much(bytes, Some(&self.letter)).await),
            Answer::Nothing | Answer::Words(_) => {}
        }
        if self.is_waiting() { Err(Trouble::Ended("without an answer to this request")) } else { Ok(()) }
    }

    /// Posts the message in a new session, once: the server has not looked at it in the old one.
    async fn again(&self, number: u64, trouble: Trouble) -> Result<Answer, Trouble> {
        let no_session = |trouble| Trouble::NoSession(Box::new(trouble));
        match self.server.renew(number).await {
            Ok(true) => {}
            Ok(false) => return Err(no_session(trouble)),
            Err(trouble) => return Err(no_session(trouble)),
        }
        match self.server.post(&self.letter).await? {
            Posted::Answer(answer) => Ok(answer),
            Posted::NoSession(_, trouble) => Err(no_session(trouble)),
        }
    }

    /// Passes on the events of a stream, and of those that resume it, until the answer has come.
    async fn stream(&self, mut stream: Stream) -> Result<(), Trouble> {
        let mut backoff = Backoff::default();
        loop {
            let begun = Instant::now();
            while let Some(item) = stream.next().await {
                if self.pass(item).await.is_err() {
                    return Ok(());
                }
                if !self.is_waiting() {
                    let rest = async {
                        while let Some(item) = stream.next().await
                            && self.pass(item).await.is_ok()
                        {}
                    };
                    let _ = timeout(AFTERWARDS, rest).await;
                    return Ok(());
                }
            }
            if !self.is_waiting() {
                return Ok(());
            }
            let pause = backoff.after(begun.elapsed(), stream.resume.retry, RESUMED);
            stream = self.resume(stream.resume, pause).await?;
        }
    }

    async fn resume(&self, resume: Resume, mut pause: Duration) -> Result<Stream, Trouble> {
        // From 2026-07-28 on nothing is resumed.
        if resume.after.is_none() || self.letter.version.is_some() {
            return Err(Trouble::Ended("before the answer to this request"));
        }
        for attempt in 1.. {
            sleep(pause).await;
            match self.server.get(resume.clone()).await {
                Err(trouble) if trouble.may_pass() && attempt < ATTEMPTS => pause = 2 * pause.max(RETRY),
                outcome => return outcome,
            }
        }
        Err(Trouble::Ended("before the answer to this request"))
    }

    async fn pass(&self, item: Item) -> Result<(), Closed> {
        match item {
            Item::Event(event) if event.kind() == b"message" => {
                self.server.heard(event.into_data(), Some(&self.letter)).await
            }
            Item::Event(_) => Ok(()),
            Item::TooLarge(bytes) => self.server.heard_too_much(bytes, Some(&self.letter)).await,
        }
    }

    async fn fail(&self, trouble: &Trouble) {
        for id in &self.letter.ids {
            if self.server.flights.land(id).is_some() {
                let answer = failure(id, trouble);
                drop(self.server.pass(Frame::Message(answer)).await);
            }
        }
    }

    fn is_waiting(&self) -> bool {
        self.letter.ids.iter().any(|id| self.server.flights.has(id))
    }
}
