//! Compresses long answers that are text: pages of a history and of a log. The page's own files are compressed already.

use std::io::{self, Write};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::problem::Problem;

/// Shorter answers fit into one packet anyway.
const SHORTEST: usize = 1024;
/// The longest answer of the daemon is far below.
const LONGEST: usize = 64 << 20; // 64 MiB

/// Compresses the answer with gzip if the client takes that. A range of bytes stays as it is: its offsets count in what is sent.
pub(crate) async fn gzip(request: Request, next: Next) -> Response {
    let is_taken = accepts(request.headers(), "gzip");
    let response = next.run(request).await;
    if !is_taken || response.status() != StatusCode::OK {
        return response;
    }
    compressed(response).await.unwrap_or_else(|error| Problem::internal(error).into_response())
}

async fn compressed(response: Response) -> io::Result<Response> {
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, LONGEST).await.map_err(io::Error::other)?;
    if bytes.len() < SHORTEST {
        return Ok(Response::from_parts(parts, Body::from(bytes)));
    }
    let packed = tokio::task::spawn_blocking(move || pack(&bytes)).await.map_err(io::Error::other)??;
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    Ok(Response::from_parts(parts, Body::from(packed)))
}

fn pack(bytes: &Bytes) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Returns true if a client takes answers in this encoding.
pub(crate) fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let texts = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let is_refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse::<f32>() == Ok(0.0));
        name.trim().eq_ignore_ascii_case(encoding) && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_by_clients_that_name_it_and_do_not_refuse_it() {
        let takes = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, text.parse().unwrap());
            accepts(&headers, "gzip")
        };
        assert!(takes("gzip") && takes("br, gzip") && takes("deflate, GZIP;q=0.5"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("xgzip") && !takes(""));
        assert!(!accepts(&HeaderMap::new(), "gzip"));
    }
}
