/**
 * Who may import whom, as data; the rules are built from it. `docs/architecture.md` shows the same table to readers, and
 * `test/architecture.test.ts` proves that the rules read every module and still bite. A test file may import anything.
 */

/** A room of src/ and the other rooms it may import. `app` puts the program together: it may import them all. */
const MAY_IMPORT = {
  lib: [],
  contract: ['lib'],
  db: ['lib'],
  audit: ['lib'],
  auth: ['lib'],
  gitlab: ['lib'],
  queue: ['lib', 'db', 'audit'],
  'item-types': ['lib', 'db', 'queue', 'gitlab'],
  events: ['lib', 'db', 'queue'],
  api: ['lib', 'contract', 'queue', 'auth', 'audit', 'events'],
  client: ['lib', 'contract'],
  dashboard: ['lib', 'contract', 'client'],
  cli: ['lib', 'contract', 'client', 'app'],
  app: null,
}

/** Every outside client has one home, so that replacing it is the work of one room. A pattern of packages → of files. */
const HOMES = {
  pg: '^src/db/',
  // The `sql` tag is how statements are written, so the two places where SQL lives have it too.
  kysely: '^src/(db/|queue/sql/|item-types/.+/store\\.ts$)',
  '@gitbeaker/[^/]+': '^src/gitlab/',
  '(fastify|@fastify/[^/]+|fastify-type-provider-zod)': '^(src/api|sandbox)/',
  commander: '^src/cli/',
  'p-queue': '^src/queue/',
  '(pino|prom-client)': '^src/app/',
  jose: '^src/auth/',
  '@aws-sdk/client-s3': '^src/audit/',
  '(@aws-sdk/client-sqs|sqs-consumer)': '^src/events/',
  '(vitest|fast-check)': '^test/',
}

/** The files of an item type that hold its thinking; they can be read, tested and trusted without a database or network. */
const PURE = '^src/item-types/[^/]+/(schema|dimensions|identity|inspection|decider)(\\.ts$|/)'

const TEST = '\\.test\\.ts$'

const roomRules = Object.entries(MAY_IMPORT)
  .filter(([, others]) => others !== null)
  .map(([room, others]) => ({
    name: `${room}-imports`,
    severity: 'error',
    comment: `src/${room} may import ${others.length > 0 ? others.join(', ') : 'no other room'}.`,
    from: { path: `^src/${room}/`, pathNot: TEST },
    to: { path: '^src/', pathNot: `^src/(${[room, ...others].join('|')})/` },
  }))

const homeRules = Object.entries(HOMES).map(([packages, home]) => ({
  name: `home-of-${
    packages
      .replace(/[^a-z0-9-]+/g, ' ')
      .trim()
      .split(' ')[0]
  }`,
  severity: 'error',
  comment: 'This package has one home; ask the room that owns it instead.',
  from: { path: '^(src|sandbox)/', pathNot: `${home}|${TEST}` },
  to: { path: `(^|/)node_modules/(@types/)?${packages}/` },
}))

const itemTypeRules = [
  {
    name: 'item-types-are-strangers',
    severity: 'error',
    comment: 'An item type knows no other; what two share belongs to lib or queue.',
    from: { path: '^src/item-types/([^/]+)/', pathNot: TEST },
    to: { path: '^src/item-types/[^/]+/', pathNot: '^src/item-types/$1/' },
  },
  {
    name: 'pure-files-stay-pure',
    severity: 'error',
    comment: 'schema, dimensions, identity, inspection and decider import lib, the types of queue, and one another.',
    from: { path: PURE, pathNot: TEST },
    to: { path: '^src/', pathNot: `^src/(lib|queue)/|${PURE}` },
  },
  {
    name: 'pure-files-take-only-types-of-queue',
    severity: 'error',
    comment: 'Of the values of queue, only the pure questions about a dimension and a work item.',
    from: { path: PURE, pathNot: TEST },
    to: {
      path: '^src/queue/',
      pathNot: '^src/queue/(dimension|work-item)\\.ts$',
      dependencyTypesNot: ['type-only'],
    },
  },
  {
    name: 'pure-files-do-no-io',
    severity: 'error',
    comment: 'A pure file reads no file, no network and no clock.',
    from: { path: PURE, pathNot: TEST },
    to: { dependencyTypes: ['core'], pathNot: '^(node:)?(buffer|crypto|path|path/posix|util)$' },
  },
  {
    name: 'the-decider-comes-last',
    severity: 'error',
    comment: 'What a decision is made from does not know the decision.',
    from: { path: '^src/item-types/[^/]+/(schema|dimensions|identity|inspection)(\\.ts$|/)', pathNot: TEST },
    to: { path: '^src/item-types/[^/]+/decider(\\.ts$|/)' },
  },
]

const treeRules = [
  {
    name: 'every-file-has-a-room',
    severity: 'error',
    comment: 'src/ has rooms and nothing beside them; a new room gets its line in MAY_IMPORT.',
    from: { path: '^src/', pathNot: `^src/(${Object.keys(MAY_IMPORT).join('|')})/` },
    to: {},
  },
  {
    name: 'sandbox-is-started-by-app',
    severity: 'error',
    comment: 'The service talks to the sandbox over HTTP, as to any GitLab; only app starts it.',
    from: { path: '^src/', pathNot: `^src/app/|${TEST}` },
    to: { path: '^sandbox/' },
  },
  {
    name: 'sandbox-imports',
    severity: 'error',
    comment: 'The sandbox must be a stranger to the service it stands in for; it may use lib.',
    from: { path: '^sandbox/', pathNot: TEST },
    to: { path: '^src/', pathNot: '^src/lib/' },
  },
  {
    name: 'tests-are-not-imported',
    severity: 'error',
    comment: 'The program does not lean on test files, scripts or benchmarks.',
    from: { path: '^(src|sandbox)/', pathNot: TEST },
    to: { path: `^(test|scripts|bench)/|${TEST}` },
  },
  {
    name: 'no-cycles',
    severity: 'error',
    comment: 'Two files that import each other are one idea in two files, or three ideas in two.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'resolvable',
    severity: 'error',
    comment: 'An import that leads nowhere would hide from every other rule.',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'declared-dependencies',
    severity: 'error',
    comment: 'The program runs on `dependencies` alone; what is not in package.json comes and goes with others.',
    from: { path: '^(src|sandbox)/', pathNot: TEST },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
  },
]

module.exports = {
  forbidden: [...roomRules, ...homeRules, ...itemTypeRules, ...treeRules],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    // Type imports are imports: a type from the wrong room ties two rooms together as well.
    tsPreCompilationDeps: true,
    detectProcessBuiltinModuleCalls: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
  },
}
