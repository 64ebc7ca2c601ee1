/**
 * Runs before `npm start`, `npm test` and `npm run check`, when perhaps nothing is installed yet: so it is plain
 * JavaScript for whatever Node the machine has (18 or newer), and needs no package. It compares node_modules with
 * package-lock.json and runs `npm ci` when something is missing or stale; otherwise it is silent and done in
 * milliseconds. What npm writes after a finished installation (node_modules/.package-lock.json) is the record it trusts,
 * so an interrupted one counts as none, and packages that were installed by hand are left alone.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, sep } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** `npm start` also works where somebody installed without development packages on purpose, as an image does. */
const NEEDS_DEV = process.env.npm_lifecycle_event !== 'prestart'
const INSTALL_TIMEOUT_MS = 15 * 60_000
const POLL_MS = 250
let libcFamilyFound

class Refusal extends Error {}

try {
  prepare()
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  console.error(`prepare: ${error.message}`)
  process.exitCode = 1
}

function prepare() {
  const lock = readLock()
  if (whatIsStale(lock) !== null) {
    const release = takeTurn()
    try {
      // Another terminal may have installed while this one waited for its turn.
      const reason = whatIsStale(lock)
      if (reason !== null) install(reason)
    } finally {
      release()
    }
  }
  if (!existsSync(join(ROOT, 'node_modules', '.bin', 'node')) && Number(process.versions.node.split('.')[0]) < 24) {
    const platform = `${process.platform}-${process.arch}`
    throw new Refusal(`there is no packaged Node 24 for ${platform}; install Node 24 yourself and try again.`)
  }
}

/** The packages of package-lock.json by path, after checking that it is a lock and agrees with package.json. */
function readLock() {
  const lock = readJson('package-lock.json')
  const manifest = readJson('package.json')
  if (lock.lockfileVersion !== 3 || typeof lock.packages !== 'object') {
    throw new Refusal('package-lock.json is not a lock of version 3. Restore it: git checkout -- package-lock.json')
  }
  for (const field of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    const [wanted, locked] = [manifest[field] ?? {}, lock.packages['']?.[field] ?? {}]
    const names = new Set([...Object.keys(wanted), ...Object.keys(locked)])
    const differing = [...names].find((name) => wanted[name] !== locked[name])
    if (differing !== undefined) {
      throw new Refusal(
        `package.json and package-lock.json disagree about ${differing}. Run \`npm install\` to settle it.`,
      )
    }
  }
  return lock.packages
}

function readJson(name) {
  let text
  try {
    text = readFileSync(join(ROOT, name), 'utf8')
  } catch (error) {
    throw new Refusal(`${name} cannot be read (${error.code}). Is this a complete checkout? git checkout -- ${name}`)
  }
  if (/^<{7} /m.test(text)) {
    throw new Refusal(`${name} holds the marks of an unfinished merge. Finish the merge, then try again.`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Refusal(`${name} is not JSON: ${error.message}. Restore it: git checkout -- ${name}`)
  }
}

/** Why node_modules has to be installed, in words; null when it fits the lock. */
function whatIsStale(packages) {
  const directory = join(ROOT, 'node_modules')
  const entry = lstatSync(directory, { throwIfNoEntry: false })
  if (entry === undefined) return 'nothing is installed yet'
  if (!entry.isDirectory() && !(entry.isSymbolicLink() && existsSync(directory))) {
    throw new Refusal('node_modules is not a directory. Remove it and try again.')
  }
  let installed
  try {
    installed = JSON.parse(readFileSync(join(directory, '.package-lock.json'), 'utf8')).packages
  } catch {
    return 'the last installation was not finished'
  }
  for (const [path, wanted] of Object.entries(packages)) {
    if (path === '' || wanted.link) continue
    const found = installed[path]
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    if (found === undefined && isExpectedHere(wanted)) return `${name} is missing`
    if (found !== undefined && (found.version !== wanted.version || found.integrity !== wanted.integrity)) {
      return `${name} ${found.version} is not the locked ${wanted.version}`
    }
  }
  return null
}

/**
 * Would npm install this package on this machine? An optional one without a platform of its own is only there for the
 * sake of others, so its absence says nothing.
 */
function isExpectedHere({ os, cpu, libc, optional, dev }) {
  if (dev && !NEEDS_DEV) return false
  if (!optional) return true
  if (os === undefined && cpu === undefined) return false
  return allows(os, process.platform) && allows(cpu, process.arch) && (libc === undefined || allows(libc, libcFamily()))
}

function allows(oneOrMore, value) {
  if (oneOrMore === undefined) return true
  const list = [oneOrMore].flat()
  if (list.includes(`!${value}`)) return false
  return list.includes(value) || list.every((entry) => entry.startsWith('!'))
}

function libcFamily() {
  // A report takes tens of milliseconds, so it is asked for once, and without the network part.
  process.report.excludeNetwork = true
  libcFamilyFound ??= process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'
  return libcFamilyFound
}

function install(reason) {
  console.log(`prepare: installing packages (${reason}) …`)
  const startedAt = Date.now()
  // With the machine's own Node: the packaged one is about to be replaced.
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => !entry.includes(`node_modules${sep}.bin`))
  const { status, error } = spawnSync('npm', ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: ROOT,
    env: { ...process.env, PATH: path.join(delimiter) },
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
    timeout: INSTALL_TIMEOUT_MS,
  })
  if (error) throw new Refusal(`npm could not be run: ${error.message}`)
  if (status !== 0) {
    throw new Refusal(
      '`npm ci` failed; its own words are above. Mostly the npm registry cannot be reached or the disk is full. ' +
        'Nothing else is needed: mend that and run the same command again.',
    )
  }
  console.log(`prepare: installed in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`)
}

/**
 * One installation at a time in this checkout: `npm start` and `npm test` in two terminals of a fresh clone would destroy
 * each other's. Waits for the process that holds the turn; a file left behind by one that is gone is taken over.
 */
function takeTurn() {
  const name = createHash('sha256').update(ROOT).digest('hex').slice(0, 16)
  const file = join(tmpdir(), `workqueue-service-prepare-${name}`)
  const deadline = Date.now() + INSTALL_TIMEOUT_MS
  for (let told = false; ; told = true) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' })
      return () => rmSync(file, { force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') return () => {}
    }
    const holder = Number(readFileSync(file, { encoding: 'utf8', flag: 'a+' }))
    if (!isRunning(holder) || Date.now() > deadline) {
      rmSync(file, { force: true })
      continue
    }
    if (!told) console.log(`prepare: process ${holder} is installing; waiting for it …`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS)
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
