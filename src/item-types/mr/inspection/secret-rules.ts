/**
 * What secrets look like. The table is our own, written from the formats that the vendors publish; its licence is that of this
 * repository, Apache-2.0.
 *
 * Each pattern is for RE2 and is tried where one of its keywords stands, anchored there: it begins with the keyword (or with what
 * the keywords have in common), so that looking is cheap and its cost is bounded. The samples are put together from pieces,
 * because a whole one in a source file would be found by every scanner, this one included.
 */

export interface SecretRule {
  readonly id: string
  /** As the finding names it. */
  readonly what: string
  readonly keywords: readonly string[]
  readonly pattern: string
  /** A match that this matches too is a placeholder. */
  readonly except?: string
  /** What stands before the keyword: by default no letter, digit or underscore; a digit; or anything. */
  readonly before?: 'digit' | 'anything'
  /** Text in which the rule must find something, and text in which it must not. */
  readonly sample: string
  readonly harmless: string
}

/** Letters and digits as a token has them, always the same. */
function noise(length: number, alphabet = 'aZ3kQ9xW7bR2mT5cY8dU4eP6fL'): string {
  return Array.from({ length }, (_, index) => alphabet[(index * 7 + (index >> 2)) % alphabet.length]).join('')
}
const hex = (length: number) => noise(length, '0f3a9c2e71b5d846')
const upper = (length: number) => noise(length, 'QZ3KA7XW5BR2MT4C')
const digits = (length: number) => noise(length, '1927364805')

const PEM_SAMPLE = `-----BEGIN RSA PRIVATE ${'KEY'}-----\n${noise(64)}\n`
const TOKEN = String.raw`[\w-]{20,}`

/** Tokens that are a fixed beginning and then letters of one alphabet. */
function token(id: string, what: string, beginning: string, rest: string, tail: string): SecretRule {
  return {
    id,
    what,
    keywords: [beginning],
    pattern: `${beginning.replace(/[.]/g, String.raw`\.`)}${rest}`,
    sample: `key: "${beginning}${tail}"`,
    harmless: `key: "${beginning}..."`,
  }
}

const GITLAB = [
  token('gitlab_access_token', 'an access token of GitLab', 'glpat-', TOKEN, noise(20)),
  token('gitlab_deploy_token', 'a deploy token of GitLab', 'gldt-', TOKEN, noise(20)),
  token('gitlab_runner_token', 'a runner token of GitLab', 'glrt-', TOKEN, noise(20)),
  token('gitlab_runner_registration_token', 'a registration token of GitLab', 'GR1348941', TOKEN, noise(20)),
  token('gitlab_job_token', 'a job token of GitLab', 'glcbt-', TOKEN, `64_${noise(20)}`),
  token('gitlab_trigger_token', 'a trigger token of GitLab', 'glptt-', TOKEN, noise(40)),
  token('gitlab_feed_token', 'a feed token of GitLab', 'glft-', TOKEN, noise(20)),
  token('gitlab_mail_token', 'a token for incoming mail of GitLab', 'glimt-', TOKEN, noise(25)),
  token('gitlab_agent_token', 'a token of an agent of GitLab', 'glagent-', TOKEN, noise(50)),
  token('gitlab_oauth_secret', 'the secret of an application of GitLab', 'gloas-', TOKEN, noise(64)),
  token('gitlab_scim_token', 'a SCIM token of GitLab', 'glsoat-', TOKEN, noise(20)),
  token('gitlab_feature_flag_token', 'a token for feature flags of GitLab', 'glffct-', TOKEN, noise(20)),
]

const GITHUB: readonly SecretRule[] = [
  {
    id: 'github_token',
    what: 'a token of GitHub',
    keywords: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    pattern: 'gh[pousr]_[0-9A-Za-z]{36}',
    sample: `token=${'gho_'}${noise(36)}`,
    harmless: `token=gho_${noise(12)}`,
  },
  token(
    'github_fine_grained_token',
    'a token of GitHub',
    'github_pat_',
    '[0-9A-Za-z]{22}_[0-9A-Za-z]{59}',
    `${noise(22)}_${noise(59)}`,
  ),
]

const CLOUDS: readonly SecretRule[] = [
  {
    id: 'aws_access_key_id',
    what: 'the id of an access key of AWS',
    keywords: ['AKIA', 'ASIA'],
    pattern: String.raw`A[KS]IA[A-Z2-7]{16}\b`,
    except: '.*EXAMPLE$',
    sample: `id = ${'AKIA'}${noise(16, 'QZ3KA7XW5BR2MT4C')}`,
    harmless: 'id = AKIAIOSFODNN7EXAMPLE',
  },
  {
    id: 'aws_secret_access_key',
    what: 'a secret access key of AWS',
    keywords: ['aws_secret', 'AWS_SECRET', 'SecretAccessKey', 'secretAccessKey', 'secret_access_key'],
    pattern: String.raw`(?i)(?:aws_secret(?:_access)?_key|secret_?access_?key)["']?\s{0,4}[:=]\s{0,4}["']?[A-Za-z0-9/+]{40}\b`,
    except: '.*EXAMPLEKEY$',
    before: 'anything',
    sample: `aws_secret_access_key = ${noise(40)}`,
    harmless: 'aws_secret_access_key = {{ secret_from_the_vault_of_the_whole_team }}',
  },
  token('google_api_key', 'an API key of Google', 'AIza', String.raw`[\w-]{35}`, noise(35)),
  token('google_oauth_secret', 'the secret of an application of Google', 'GOCSPX-', String.raw`[\w-]{28}`, noise(28)),
  token('google_access_token', 'an access token of Google', 'ya29.', String.raw`[\w-]{30,}`, noise(60)),
  {
    id: 'azure_storage_key',
    what: 'the key of a storage account of Azure',
    keywords: ['AccountKey=', 'SharedAccessKey='],
    pattern: '(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{42,86}={1,2}',
    sample: `AccountName=x;AccountKey=${noise(86)}==;`,
    harmless: 'AccountName=x;AccountKey=<key>;',
  },
  {
    id: 'azure_client_secret',
    what: 'the secret of an application of Azure',
    keywords: ['7Q~', '8Q~'],
    pattern: String.raw`[78]Q~[\w~.-]{31,34}`,
    before: 'anything',
    sample: `secret: ${noise(3)}8Q~${noise(34)}`,
    harmless: 'secret: abc8Q~short',
  },
  {
    id: 'azure_shared_access_signature',
    what: 'a shared access signature of Azure',
    keywords: ['&sig=', '?sig='],
    pattern: '[?&]sig=[A-Za-z0-9%+/]{40,100}(?:%3D|=)',
    before: 'anything',
    sample: `https://x.blob.core.windows.net/y?sv=2024&sig=${noise(43)}%3D`,
    harmless: 'https://x.blob.core.windows.net/y?sv=2024&sig=redacted',
  },
  token('digitalocean_token', 'a token of DigitalOcean', 'dop_v1_', '[0-9a-f]{64}', hex(64)),
  token('databricks_token', 'a token of Databricks', 'dapi', '[0-9a-f]{32}', hex(32)),
]

const PLATFORMS: readonly SecretRule[] = [
  token('openshift_token', 'a token of OpenShift', 'sha256~', String.raw`[\w-]{43}`, noise(43)),
  {
    id: 'json_web_token',
    what: 'a JSON web token',
    keywords: ['eyJ'],
    pattern: String.raw`eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}`,
    sample: `Bearer ${'eyJ'}${noise(30)}.${'eyJ'}${noise(60)}.${noise(43)}`,
    harmless: `Bearer eyJ${noise(30)}.eyJ`,
  },
  token('docker_token', 'an access token of Docker Hub', 'dckr_pat_', String.raw`[\w-]{27}`, noise(27)),
  {
    id: 'docker_registry_login',
    what: 'the login of a container registry',
    keywords: ['"auth"'],
    pattern: String.raw`"auth"\s{0,4}:\s{0,4}"[A-Za-z0-9+/]{16,}={0,2}"`,
    before: 'anything',
    sample: `{"auths":{"quay.io":{"auth": "${noise(28)}"}}}`,
    harmless: '{"auths":{"quay.io":{"auth": ""}}}',
  },
  token('vault_token', 'a token of HashiCorp Vault', 'hvs.', String.raw`[\w-]{24,}`, noise(90)),
  token('vault_batch_token', 'a batch token of HashiCorp Vault', 'hvb.', String.raw`[\w-]{100,}`, noise(140)),
  {
    id: 'terraform_token',
    what: 'a token of Terraform',
    keywords: ['.atlasv1.'],
    pattern: String.raw`\.atlasv1\.[\w=-]{60,}`,
    before: 'anything',
    sample: `token = "${noise(14)}.atlasv1.${noise(67)}"`,
    harmless: 'token = "xxxx.atlasv1.xxxx"',
  },
  token('artifactory_api_key', 'an API key of Artifactory', 'AKCp', '[0-9A-Za-z]{69}', noise(69)),
  token('artifactory_reference_token', 'a reference token of Artifactory', 'cmVmdGtu', '[0-9A-Za-z]{56}', noise(56)),
  token('pulumi_token', 'a token of Pulumi', 'pul-', '[0-9a-f]{40}', hex(40)),
  token('sonar_token', 'a token of SonarQube', 'sqp_', '[0-9a-f]{40}', hex(40)),
  token('grafana_token', 'a token of Grafana', 'glsa_', '[0-9A-Za-z]{32}_[0-9a-f]{8}', `${noise(32)}_${hex(8)}`),
  token('sentry_token', 'a token of Sentry', 'sntrys_', '[0-9A-Za-z+/=_-]{60,}', noise(80)),
  token('atlassian_token', 'a token of Atlassian', 'ATATT3', '[0-9A-Za-z_=-]{100,}', noise(180)),
  token('postman_api_key', 'an API key of Postman', 'PMAK-', '[0-9a-f]{24}-[0-9a-f]{34}', `${hex(24)}-${hex(34)}`),
  token(
    'tailscale_key',
    'a key of Tailscale',
    'tskey-',
    '(?:auth|api|client)-[0-9A-Za-z]+-[0-9A-Za-z]{20,}',
    `auth-${noise(12)}-${noise(32)}`,
  ),
  token('new_relic_key', 'a key of New Relic', 'NRAK-', '[0-9A-Z]{27}', upper(27)),
]

const PACKAGES: readonly SecretRule[] = [
  token('npm_token', 'a token of npm', 'npm_', String.raw`[0-9A-Za-z]{36}\b`, noise(36)),
  {
    id: 'npm_registry_login',
    what: 'the login of a package registry',
    keywords: ['_authToken=', '_auth=', '_password='],
    pattern: `_(?:authToken|auth|password)=["']?[0-9A-Za-z+/=._-]{16,}`,
    before: 'anything',
    sample: `//registry.example.com/:_authToken=${noise(36)}`,
    harmless: '//registry.example.com/:_authToken=<token-of-the-registry>',
  },
  token('pypi_token', 'a token of PyPI', 'pypi-AgE', String.raw`[\w-]{50,}`, noise(150)),
  token('rubygems_key', 'a key of RubyGems', 'rubygems_', '[0-9a-f]{48}', hex(48)),
  token('nuget_key', 'a key of NuGet', 'oy2', String.raw`[0-9a-z]{43}\b`, noise(43, 'a3k9x7b2m5c8d4e6f')),
]

const SERVICES: readonly SecretRule[] = [
  {
    id: 'slack_token',
    what: 'a token of Slack',
    keywords: ['xoxa-', 'xoxb-', 'xoxc-', 'xoxd-', 'xoxe-', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-', 'xapp-'],
    pattern: '(?:xox[a-eoprs]|xapp)-[0-9A-Za-z-]{20,}',
    sample: `SLACK=${'xoxb'}-${digits(12)}-${digits(12)}-${noise(24)}`,
    harmless: 'SLACK=xoxb-your-token',
  },
  token(
    'slack_webhook',
    'a webhook of Slack',
    'hooks.slack.com/',
    '(?:services|workflows|triggers)/[0-9A-Z]{6,}/[0-9A-Z]{6,}/[0-9A-Za-z]{16,}',
    `services/${upper(9)}/${upper(11)}/${noise(24)}`,
  ),
  {
    id: 'stripe_key',
    what: 'a key of Stripe',
    keywords: ['sk_live_', 'rk_live_', 'sk_prod_', 'rk_prod_'],
    pattern: '[sr]k_(?:live|prod)_[0-9A-Za-z]{16,}',
    sample: `stripe: ${'sk_live'}_${noise(24)}`,
    harmless: 'stripe: sk_live_...',
  },
  token('stripe_webhook_secret', 'the secret of a webhook of Stripe', 'whsec_', '[0-9A-Za-z+/]{32,}', noise(32)),
  token('sendgrid_key', 'a key of SendGrid', 'SG.', String.raw`[\w-]{22}\.[\w-]{43}`, `${noise(22)}.${noise(43)}`),
  {
    id: 'telegram_token',
    what: 'the token of a bot of Telegram',
    keywords: [':AA'],
    pattern: String.raw`:AA[\w-]{33}\b`,
    before: 'digit',
    sample: `bot: ${digits(10)}:AA${noise(33)}`,
    harmless: `bot: name:AA${noise(33)}`,
  },
  token('shopify_token', 'a token of Shopify', 'shpat_', '[0-9A-Fa-f]{32}', hex(32)),
  token('anthropic_key', 'a key of Anthropic', 'sk-ant-', String.raw`[a-z0-9]+-[\w-]{60,}`, `api03-${noise(93)}`),
  token('openai_key', 'a key of OpenAI', 'sk-proj-', String.raw`[\w-]{40,}`, noise(120)),
  token('hugging_face_token', 'a token of Hugging Face', 'hf_', String.raw`[0-9A-Za-z]{34}\b`, noise(34)),
  token('linear_key', 'a key of Linear', 'lin_api_', '[0-9A-Za-z]{40}', noise(40)),
]

const GENERAL: readonly SecretRule[] = [
  {
    id: 'private_key',
    what: 'a private key',
    keywords: ['-----BEGIN '],
    // The header alone is documentation. Line breaks may be escaped, as in JSON; old keys have lines of headers.
    pattern: String.raw`-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|[\s"'+,|>])*(?:[A-Za-z-]{2,30}: [^\n\\]{0,100}(?:\\[nr]|\s)+){0,4}[A-Za-z0-9+/=]{16}`,
    before: 'anything',
    sample: PEM_SAMPLE,
    harmless: `-----BEGIN RSA PRIVATE ${'KEY'}-----\n...\n`,
  },
  token('putty_private_key', 'a private key', 'PuTTY-User-Key-File-', '[23]: [a-z]', '2: ssh-rsa'),
  token(
    'age_secret_key',
    'a secret key of age',
    'AGE-SECRET-KEY-1',
    '[02-9AC-HJ-NP-Z]{58}',
    noise(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'),
  ),
  {
    id: 'url_password',
    what: 'a password in an address',
    keywords: ['://'],
    pattern: String.raw`://[^\s/?#:@"'<>{}$\\]{0,100}:[^\s/?#@"'<>{}()\[\]$*|\\\x60]{5,200}@[\w\[]`,
    except: String.raw`(?i).*:(?:pass|pwd|[a-z_-]{0,12}passw(?:d|ord|ort)|secret|token|user|username|root|admin|postgres|guest|test|example|changeme|x+|\.+)@`,
    before: 'anything',
    sample: `url: postgres://app:${noise(14)}@db.example.com/app`,
    harmless: 'url: postgres://app:{{password}}@db.example.com/app and https://user:password@example.com',
  },
  {
    id: 'basic_auth_header',
    what: 'the header of a login',
    keywords: ['uthorization: Basic '],
    pattern: 'uthorization: Basic [A-Za-z0-9+/]{16,}={0,2}',
    before: 'anything',
    sample: `Authorization: Basic ${noise(24)}=`,
    harmless: 'Authorization: Basic <base64>',
  },
]

export const SECRET_RULES: readonly SecretRule[] = [
  ...GENERAL,
  ...GITLAB,
  ...GITHUB,
  ...CLOUDS,
  ...PLATFORMS,
  ...PACKAGES,
  ...SERVICES,
]

export const SECRET_RULE_IDS: readonly string[] = SECRET_RULES.map(({ id }) => id)
