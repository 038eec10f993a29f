//! Reads the response of the service, and decides if it is shaped.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, HeaderValue};
use http::{Method, Response, StatusCode};
use http_body::Body as HttpBody;
use portion_core::error_code::ErrorCode;
use portion_core::paging::{ArgumentValue, PagingArgument};
use portion_core::payload::Payload;
use portion_gateway::call::Fault;

use super::Exchange;
use crate::body::{
    self, Body, BoxError, ReadBodyError, ReadLimits, StreamStart, full, may_have_body, prefixed, streamed,
};
use crate::media_type::{BodyForm, is_undeclared, payload_of};
use crate::response::{
    CURSOR_HEADER, NOT_CACHED, OwnError, fault_response, leads_on, remove_representation_headers,
    timeout_fault,
};

/// Message and advice for responses in which nothing can be redacted.
const CODING_FAULT: (&str, &str) = (
    "the API sent a content coding that Portion does not decode, so that nothing in it could be redacted",
    "let the API send gzip, deflate, br or no coding",
);
const RANGE_FAULT: (&str, &str) = (
    "the API sent a range of a document, so that nothing in it could be redacted",
    "let the API send the document whole",
);

/// A response of the service that is to be shaped.
pub(super) struct Received {
    pub(super) head: http::response::Parts,
    pub(super) wire: Bytes,
    pub(super) payload: Payload,
}

impl Exchange<'_> {
    /// Reads the response of the service.
    ///
    /// # Errors
    /// Returns the response for the client if it is not to be shaped.
    pub(super) async fn read<B>(&self, response: Response<B>) -> Result<Received, Box<Response<Body>>>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (mut head, body) = response.into_parts();
        let mut body = streamed(body);
        if head.headers.contains_key(CURSOR_HEADER) {
            self.shared.nested_portion.record();
        }
        let (cors, origin) = (&self.shared.cors, self.origin.as_ref());
        match head.extensions.get::<OwnError>() {
            Some(OwnError) => cors.apply(&self.endpoint.name, origin, &mut head.headers),
            None => cors.learn(&self.endpoint.name, origin, &head.headers),
        }
        let redacts = self.redacts();
        let codings = body::content_codings(&head.headers);
        let silence = self.caller.rule.config().request_timeout;
        let form = match BodyForm::of(&head.headers) {
            _ if !may_have_body(head.status) => BodyForm::Other,
            // Without a type, the first byte tells.
            _ if is_undeclared(&head.headers)
                && codings == Ok(Vec::new())
                && (head.status == StatusCode::PARTIAL_CONTENT
                    || body::begins_like_json(&mut body, silence).await) =>
            {
                BodyForm::Json
            }
            BodyForm::Text | BodyForm::Document if !redacts && !self.chunks_text() => BodyForm::Other,
            BodyForm::Document if !redacts && self.prefers_html => BodyForm::Other,
            form => form,
        };
        if form == BodyForm::Other {
            return Err(Box::new(Response::from_parts(head, body)));
        }
        if head.status == StatusCode::PARTIAL_CONTENT {
            let passed = || Response::from_parts(head, body);
            return Err(Box::new(if redacts { self.unredacted_response(RANGE_FAULT) } else { passed() }));
        }
        let Ok(codings) = codings else {
            if redacts {
                return Err(Box::new(self.unredacted_response(CODING_FAULT)));
            }
            tracing::warn!(endpoint = %self.endpoint.name, "a response passes as it is: its content coding is unknown");
            return Err(Box::new(Response::from_parts(head, body)));
        };
        if self.method == Method::HEAD {
            // The length and the validators of a shaped response are not known without its body.
            remove_representation_headers(&mut head.headers);
            // The shaped response may have a cursor, which no cache may keep.
            head.headers.insert(CACHE_CONTROL, HeaderValue::from_static(NOT_CACHED));
            return Err(Box::new(Response::from_parts(head, full(Bytes::new()))));
        }
        let limit = self.shared.options.max_response_bytes;
        let limits = ReadLimits {
            bytes: limit,
            silence,
            stream_after: match form {
                // A stream passes as it comes, so nothing would be redacted in it.
                _ if redacts || !codings.is_empty() || body.size_hint().exact().is_some() => {
                    StreamStart::Never
                }
                BodyForm::Text | BodyForm::Document => StreamStart::FirstBytes,
                _ => StreamStart::JsonValue,
            },
        };
        let wire = match body::read(&mut body, limits).await {
            Ok(wire) => wire,
            Err(ReadBodyError::Stream(start)) => {
                return Err(Box::new(Response::from_parts(head, prefixed(start, body))));
            }
            Err(error) => return Err(Box::new(self.unreadable_response(&error, limit))),
        };
        if wire.is_empty() {
            // A redirect, or a status that says it all.
            return Err(Box::new(Response::from_parts(head, full(wire))));
        }
        let decoded = match body::decode(wire.clone(), &codings, limit).await {
            Ok(decoded) => decoded,
            Err(error) => return Err(Box::new(self.unreadable_response(&error, limit))),
        };
        let mut paging_arguments = Arc::clone(&self.paging_arguments);
        if leads_on(&head.headers) {
            // As if the request had one: the page is whole.
            let cursor = PagingArgument { value: ArgumentValue::Other, ..PagingArgument::new("cursor") };
            paging_arguments = paging_arguments.iter().cloned().chain([cursor]).collect();
        }
        // Other software may read a field in bytes that Portion cannot decode.
        let passes_as_bytes = !redacts;
        let payload = Payload { paging_arguments, passes_as_bytes, ..payload_of(&decoded, &head) };
        Ok(Received { head, wire, payload })
    }

    /// Returns the error for a response that could not be read.
    fn unreadable_response(&self, error: &ReadBodyError, limit: usize) -> Response<Body> {
        tracing::warn!(endpoint = %self.endpoint.name, %error, "a response of the upstream was not read");
        let fault = match error {
            ReadBodyError::TooLong => Fault::message_too_large(limit, Some(&self.endpoint)),
            ReadBodyError::Truncated(_) | ReadBodyError::Stream(_) => {
                Fault::upstream_invalid("a response that broke off")
            }
            ReadBodyError::Silent(after) => timeout_fault(*after, &self.method),
        };
        self.reported_response(fault)
    }

    /// Returns the error for a response in which nothing can be redacted.
    fn unredacted_response(&self, (message, advice): (&str, &str)) -> Response<Body> {
        let (message, advice) =
            (message.to_owned(), format!("{advice}, or turn redact off for this endpoint"));
        self.reported_response(Fault::new(ErrorCode::UpstreamInvalid, message, advice))
    }

    pub(super) fn redacts(&self) -> bool {
        self.caller.effective_policy.redact.is_some()
    }

    /// Returns true if long texts of the endpoint are served in chunks.
    fn chunks_text(&self) -> bool {
        let options = &self.caller.effective_policy.policy.render_options;
        options.techniques.chunking && self.caller.shaping_mode.pass_through.is_none()
    }

    fn reported_response(&self, fault: Fault) -> Response<Body> {
        let mut response = fault_response(&self.reported(fault));
        self.shared.cors.apply(&self.endpoint.name, self.origin.as_ref(), response.headers_mut());
        response
    }
}
