//! Counters of the server, as Prometheus reads them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: AtomicU64,
    refusals: AtomicU64,
    sockets: AtomicU64,
    sent: AtomicU64,
    typed: AtomicU64,
}

/// A value of this moment, under its name for Prometheus.
pub(crate) struct Gauge {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) value: u64,
}

impl Metrics {
    pub(crate) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_refusal(&self) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_socket(&self) {
        self.sockets.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_typed(&self, bytes: usize) {
        self.typed.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns the page for Prometheus.
    pub(crate) fn page(&self, gauges: &[Gauge]) -> String {
        let counters = [
            ("qd_web_requests_total", "HTTP requests", &self.requests),
            (
                "qd_web_refusals_total",
                "Requests refused for their names, their caller or its role",
                &self.refusals,
            ),
            ("qd_web_sockets_total", "WebSockets opened", &self.sockets),
            ("qd_web_sent_bytes_total", "Bytes of screens sent to viewers", &self.sent),
            ("qd_web_typed_bytes_total", "Bytes that viewers typed", &self.typed),
        ];
        let mut page = String::new();
        for (name, help, counter) in counters {
            write_metric(&mut page, name, help, "counter", counter.load(Ordering::Relaxed));
        }
        for gauge in gauges {
            write_metric(&mut page, gauge.name, gauge.help, "gauge", gauge.value);
        }
        page
    }
}

fn write_metric(page: &mut String, name: &str, help: &str, kind: &str, value: u64) {
    page.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"));
}
