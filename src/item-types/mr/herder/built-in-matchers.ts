/**
 * The failures that every GitLab knows: its runners' and its network's, which a second run survives, and those that no
 * second run helps. Each is chosen so that a fault of the change itself does not fit it; where only a log can tell, one
 * retry is all that a mistake costs. Configured matchers are asked first, so each of these can be overruled.
 */
import { type MatcherConfig, type MatcherInput, matcherSchema } from './config.ts'

/** What a script prints whose network failed under it. The whole sentence, as its program writes it, where it can be had. */
const NETWORK = [
  'Temporary failure in name resolution',
  'Could not resolve host',
  'getaddrinfo (?:EAI_AGAIN|ENOTFOUND)',
  'TLS handshake timeout',
  'net/http: request canceled while waiting for connection',
  '(?:npm|pnpm|yarn) (?:ERR!|error) (?:code |errno )?(?:ECONNRESET|ETIMEDOUT|ECONNREFUSED)',
  'ReadTimeoutError\\(',
  'Could not transfer artifact .{0,300}(?:timed out|Connection reset|502|503|504)',
  'dial tcp .{0,120}(?:i/o timeout|connection refused|connection reset by peer)',
  'Failed to fetch https?://\\S{1,300} +(?:50[234]|Connection (?:failed|timed out)|Unable to connect)',
  'curl: \\((?:6|7|18|28|35|52|56|92)\\)',
].join('|')

const GIT = [
  "^fatal: unable to access '[^']{1,300}': (?:Could not resolve host|Failed to connect|Connection |Operation timed out|Recv failure|SSL |GnuTLS |The requested URL returned error: (?:429|5\\d\\d))",
  '^error: RPC failed; (?:HTTP 5\\d\\d|curl (?:18|28|56|92))',
  '^fatal: (?:the remote end hung up unexpectedly|early EOF|fetch-pack: unexpected disconnect)',
].join('|')

const IMAGE = [
  '[Ff]ailed to pull image .{0,500}(?:i/o timeout|TLS handshake timeout|connection reset|connection refused|toomanyrequests|50[0234]|context deadline exceeded)',
  'Error response from daemon: .{0,300}(?:i/o timeout|TLS handshake timeout|toomanyrequests|50[0234] )',
  '(?:ErrImagePull|ImagePullBackOff)',
].join('|')

const ARTIFACTS = [
  '^(?:ERROR|FATAL): (?:Up|Down)loading artifacts .{0,200}(?:error|50[0234])',
  '^(?:WARNING: )?Retrying\\.\\.\\. .{0,300}(?:i/o timeout|connection reset|50[0234])',
].join('|')

/** What a script leaves when one of its commands fails: the log has to tell the rest. */
const BY_SCRIPT = ['script_failure', 'unknown_failure']

const MATCHERS: readonly MatcherInput[] = [
  {
    name: 'no-runner',
    match: { failure_reason: ['stuck_pending_no_matching_runners', 'no_matching_runner', 'runner_unsupported'] },
    action: 'report',
    message: 'no runner may take this job; look at its tags and at the runners of the project',
  },
  {
    name: 'operator-needed',
    match: {
      failure_reason: [
        ...['runner_configuration_error', 'ci_quota_exceeded', 'user_blocked', 'builds_disabled', 'archived_failure'],
        ...['secrets_provider_not_found', 'ip_restriction_failure', 'project_deleted', 'data_integrity_failure'],
      ],
    },
    action: 'report',
    message: 'GitLab could not run this job as it is set up; a maintainer of the project has to look',
  },
  {
    name: 'lost-runner',
    match: {
      failure_reason: [
        ...['runner_system_failure', 'runner_interrupted', 'runner_external_dependency_failure'],
        // And what newer servers say in its place: nobody picked it up, or nothing was heard of it any more.
        'stuck_or_timeout_failure',
      ],
    },
    action: 'retry',
  },
  {
    name: 'gitlab-hiccup',
    match: {
      failure_reason: ['api_failure', 'scheduler_failure', 'stale_schedule', 'job_router_failure'],
    },
    action: 'retry',
  },
  { name: 'git-network', match: { failure_reason: BY_SCRIPT, log_tail: GIT }, action: 'retry' },
  { name: 'image-pull', match: { failure_reason: BY_SCRIPT, log_tail: IMAGE }, action: 'retry', delay: '1m' },
  { name: 'artifact-transfer', match: { failure_reason: BY_SCRIPT, log_tail: ARTIFACTS }, action: 'retry' },
  { name: 'script-network', match: { failure_reason: BY_SCRIPT, log_tail: NETWORK }, action: 'retry', max_retries: 1 },
  { name: 'unknown-failure', match: { failure_reason: 'unknown_failure' }, action: 'retry', max_retries: 1 },
]

export const BUILT_IN_MATCHERS: readonly MatcherConfig[] = MATCHERS.map((matcher) => matcherSchema.parse(matcher))
