//! The bytes of a process's log: from an offset, or the range of offsets that a client names.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use client::Incoming;
use proto::frame::DataKind;
use proto::reply::Following;
use proto::request::{Follow, RunChoice};
use proto::{ErrorCode, Notice, Reply, Request, Target};
use serde::Deserialize;

use crate::api_query::ApiQuery;
use crate::door::DoorConnection;
use crate::gateway::{Gateway, Shared};
use crate::identity::AccessIdentity;
use crate::problem::Problem;
use crate::verb_call::run_choice;

/// The most bytes of a log in one answer.
const MAX_LOG: usize = 1 << 20; // 1 MiB

#[derive(Debug, Deserialize)]
struct Span {
    from: Option<u64>,
    /// The number of an earlier run, or `previous`.
    run: Option<String>,
}

/// Whose log.
struct LogOf<'a> {
    gateway: &'a Gateway,
    caller: &'a AccessIdentity,
    id: &'a str,
    run: RunChoice,
}

/// A range of a log, as the header `Range` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogRange {
    /// From an offset to the end, or to another one and with it.
    From(u64, Option<u64>),
    /// So many last bytes.
    Last(u64),
}

impl LogRange {
    /// Returns the one range that a request names. One that cannot be read, and several, count as none, as the standard has it.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(header::RANGE)?.to_str().ok()?.strip_prefix("bytes=")?;
        match text.split_once('-')? {
            ("", last) => Some(Self::Last(last.parse().ok()?)),
            (first, "") => Some(Self::From(first.parse().ok()?, None)),
            (first, last) => {
                let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
                (first <= last).then_some(Self::From(first, Some(last)))
            }
        }
    }
}

/// The bytes of the log from `from` on, at most 1 MiB. `X-Qd-Offset` is the offset of the first byte, which is later than
/// `from` when older bytes are gone; `X-Qd-End` is where to go on. A `Range` is answered with 206, or with 416 if its first byte
/// is gone or not there yet.
pub(crate) fn log() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        Path(id): Path<String>,
        ApiQuery(span): ApiQuery<Span>,
        headers: HeaderMap,
    ) -> Result<Response, Problem> {
        let run = span.run.as_deref().map(run_choice).transpose()?.unwrap_or_default();
        let log = LogOf { gateway: &gateway, caller: &caller, id: &id, run };
        match LogRange::of(&headers).filter(|_| span.from.is_none()) {
            Some(range) => log.ranged(range).await,
            None => {
                let (offset, bytes) = log.read(span.from.unwrap_or(0), MAX_LOG).await?;
                Ok(answer(StatusCode::OK, offset, bytes))
            }
        }
    }
    get(handle)
}

impl LogOf<'_> {
    /// Answers with one range of the log.
    async fn ranged(&self, range: LogRange) -> Result<Response, Problem> {
        let end = self.begin(None).await?.1.log.end;
        let (first, last) = match range {
            LogRange::From(first, last) => (first, last),
            LogRange::Last(count) => (end.saturating_sub(count.min(MAX_LOG as u64)), None),
        };
        let wanted = last.map_or(MAX_LOG as u64, |last| (last - first).saturating_add(1));
        let most = usize::try_from(wanted).map_or(MAX_LOG, |wanted| wanted.min(MAX_LOG));
        let (offset, bytes) = self.read(first, most).await?;
        if offset != first || bytes.is_empty() {
            return Ok(unsatisfied(end));
        }
        let past = offset + bytes.len() as u64;
        let mut response = answer(StatusCode::PARTIAL_CONTENT, offset, bytes);
        // The log may be growing.
        let content = format!("bytes {offset}-{}/{}", past - 1, end.max(past));
        set(&mut response, header::CONTENT_RANGE, &content);
        Ok(response)
    }

    async fn begin(&self, from: Option<u64>) -> Result<(DoorConnection, Following), Problem> {
        let mut connection = self.gateway.door.connect(self.caller).await?;
        let tail = from.is_none().then_some(0);
        let follow =
            Follow { target: Target(self.id.to_owned()), run: self.run, from, tail, ..Follow::default() };
        match connection.call(Request::Follow(follow)).await? {
            Reply::Following(following) => Ok((connection, following)),
            _ => Err(Problem::internal("follow was answered with something else")),
        }
    }

    /// Returns the offset of the first byte, and at most so many bytes.
    async fn read(&self, from: u64, most: usize) -> Result<(u64, Vec<u8>), Problem> {
        let (mut connection, _) = self.begin(Some(from)).await?;
        let (mut start, mut bytes) = (from, Vec::new());
        while let Some(incoming) = connection.reader.receive().await? {
            match incoming {
                Incoming::Data(data) if data.kind == DataKind::Output => {
                    if bytes.is_empty() {
                        start = data.offset;
                    } else if start + bytes.len() as u64 != data.offset {
                        break;
                    }
                    bytes.extend_from_slice(&data.bytes);
                    if bytes.len() >= most {
                        bytes.truncate(most);
                        break;
                    }
                }
                Incoming::Notice(Notice::End { .. }) => break,
                Incoming::Notice(Notice::Gap { to, .. }) if bytes.is_empty() => start = to,
                _ => {}
            }
        }
        Ok((start, bytes))
    }
}

fn answer(status: StatusCode, offset: u64, bytes: Vec<u8>) -> Response {
    let end = offset + bytes.len() as u64;
    let mut response = (status, bytes).into_response();
    set(&mut response, header::CONTENT_TYPE, "application/octet-stream");
    set(&mut response, header::CONTENT_DISPOSITION, "attachment; filename=\"log\"");
    set(&mut response, header::ACCEPT_RANGES, "bytes");
    set(&mut response, HeaderName::from_static("x-qd-offset"), &offset.to_string());
    set(&mut response, HeaderName::from_static("x-qd-end"), &end.to_string());
    response
}

fn unsatisfied(end: u64) -> Response {
    let message = "the log does not have the first byte of this range";
    let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, ErrorCode::NotFound, message);
    let mut response = problem.into_response();
    set(&mut response, header::CONTENT_RANGE, &format!("bytes */{end}"));
    response
}

fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_of_bytes_is_read_and_everything_else_is_none() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, text.parse().unwrap());
            LogRange::of(&headers)
        };
        assert_eq!(of("bytes=7-"), Some(LogRange::From(7, None)));
        assert_eq!(of("bytes=7-7"), Some(LogRange::From(7, Some(7))));
        assert_eq!(of("bytes=-100"), Some(LogRange::Last(100)));
        for none in ["bytes=8-7", "bytes=0-1,3-4", "lines=1-2", "bytes=", "bytes=-", "bytes=a-", "bytes=-1-"]
        {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
