use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::time::Duration;

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::{Resolver, TokioResolver};

use crate::net::{ResolveError, Resolved};

/// A stub resolver: asks the name servers of the machine, or given ones, over UDP and, where an answer is cut, TCP.
///
/// It keeps no answers: their lives end by our own clock, in [`crate::names`].
#[derive(Debug, Default)]
pub(crate) struct Dns {
    /// Asked instead of those of the machine.
    servers: Vec<SocketAddr>,
    resolver: OnceLock<Result<TokioResolver, String>>,
}

/// How long one try waits for a name server at most, and how often it tries (our choice: together below the 10 s
/// that a look-up has).
const PATIENCE: Duration = Duration::from_secs(3);
const TRIES: usize = 2;
/// How long the family that has answered waits for the other one (RFC 8305 §3 has 50 ms; our choice: an answer is
/// kept for a minute at least, so that a server slow by half a second should not cost a family for that long).
const OTHER_FAMILY: Duration = Duration::from_millis(500);

impl Dns {
    /// A resolver that asks `servers` and none of the machine's.
    pub(crate) fn asking(servers: &[SocketAddr]) -> Self {
        Self { servers: servers.to_vec(), resolver: OnceLock::new() }
    }

    /// Both families at once; the addresses of IPv6 come first (RFC 6724 §2.1). Waits are bounded by the caller too.
    pub(crate) async fn look_up(&self, host: &str) -> Result<Resolved, ResolveError> {
        let resolver = self.resolver.get_or_init(|| build(&self.servers));
        let resolver = resolver.as_ref().map_err(|cause| ResolveError::Temporary(cause.clone()))?;
        // A name that DNS cannot hold, as a label of more than 63 bytes, exists nowhere.
        let mut name = Name::from_ascii(host).map_err(|_| ResolveError::NoSuchName)?;
        name.set_fqdn(true); // Search domains are for people.
        let six = one_family(resolver, name.clone(), RecordType::AAAA);
        let four = one_family(resolver, name, RecordType::A);
        let (six, four) = both(six, four).await;
        join(six, four)
    }
}

type Answer = Result<Resolved, ResolveError>;

/// Waits for both, and for the second not long when the first has addresses. `None`: not waited for.
async fn both(
    six: impl Future<Output = Answer>,
    four: impl Future<Output = Answer>,
) -> (Option<Answer>, Option<Answer>) {
    let (mut six, mut four) = (std::pin::pin!(six), std::pin::pin!(four));
    tokio::select! {
        biased;
        first = &mut six => {
            let second = second(&first, four).await;
            (Some(first), second)
        }
        first = &mut four => {
            let second = second(&first, six).await;
            (second, Some(first))
        }
    }
}

async fn second(first: &Answer, other: impl Future<Output = Answer>) -> Option<Answer> {
    if first.is_ok() { tokio::time::timeout(OTHER_FAMILY, other).await.ok() } else { Some(other.await) }
}

/// Addresses of either family are an answer; a family that could not be asked keeps the name from being given up.
fn join(six: Option<Answer>, four: Option<Answer>) -> Answer {
    let mut found = Resolved::default();
    let mut failures = Vec::new();
    for answer in [six, four].into_iter().flatten() {
        match answer {
            Ok(more) => {
                found.addresses.extend(more.addresses);
                found.life = [found.life, more.life].into_iter().flatten().min();
            }
            Err(failure) => failures.push(failure),
        }
    }
    if !found.addresses.is_empty() {
        return Ok(found);
    }
    let passing = failures.iter().find(|failure| matches!(failure, ResolveError::Temporary(_) | ResolveError::Timeout));
    let last = failures.first().cloned();
    Err(passing.cloned().or(last).unwrap_or(ResolveError::NoAddress))
}

async fn one_family(resolver: &TokioResolver, name: Name, family: RecordType) -> Answer {
    let found = resolver.lookup(name, family).await.map_err(|error| read(&error))?;
    let addresses: Vec<IpAddr> = found.answers().iter().filter_map(|record| record.data.ip_addr()).collect();
    if addresses.is_empty() {
        return Err(ResolveError::NoAddress);
    }
    let life = found.answers().iter().map(|record| record.ttl).min();
    Ok(Resolved { addresses, life: life.map(|seconds| Duration::from_secs(seconds.into())) })
}

/// "No such name" and "no such record" are answers; all else may pass.
fn read(error: &NetError) -> ResolveError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain => ResolveError::NoSuchName,
            ResponseCode::NoError => ResolveError::NoAddress,
            other => ResolveError::Temporary(other.to_string()),
        },
        NetError::Timeout => ResolveError::Timeout,
        other => ResolveError::Temporary(other.to_string()),
    }
}

fn build(servers: &[SocketAddr]) -> Result<TokioResolver, String> {
    let (config, mut options) = if servers.is_empty() { of_the_machine() } else { of_servers(servers) };
    options.cache_size = 0;
    options.timeout = options.timeout.min(PATIENCE);
    options.attempts = options.attempts.clamp(1, TRIES);
    let mut builder = Resolver::builder_with_config(config, TokioRuntimeProvider::default());
    *builder.options_mut() = options;
    builder.build().map_err(|error| error.to_string())
}

/// /etc/resolv.conf and /etc/hosts, or what the system has instead; without name servers the hosts file is all.
fn of_the_machine() -> (ResolverConfig, ResolverOpts) {
    hickory_resolver::system_conf::read_system_conf().unwrap_or_else(|error| {
        tracing::warn!(%error, "no name servers found: only the hosts file and [fetch] resolve give addresses");
        (ResolverConfig::default(), ResolverOpts::default())
    })
}

fn of_servers(servers: &[SocketAddr]) -> (ResolverConfig, ResolverOpts) {
    let server = |address: &SocketAddr| {
        let mut config = NameServerConfig::udp_and_tcp(address.ip());
        config.connections.iter_mut().for_each(|connection: &mut ConnectionConfig| connection.port = address.port());
        config
    };
    let config = ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(server).collect());
    let mut options = ResolverOpts::default();
    options.use_hosts_file = ResolveHosts::Never;
    (config, options)
}
