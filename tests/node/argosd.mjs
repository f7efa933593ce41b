//  argosd for a test: a home of its own, ports from its log, ended after the test.

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const build = process.env.ARGOS_BUILD ?? resolve(import.meta.dirname, '../../build')

//  Starts it, with the text of an argos.yaml; resolves to { key, port, rehearsal, stop } when it is ready.
export async function startArgosd (settings) {
  const home = mkdtempSync(join(tmpdir(), 'argos-'))
  if (settings) writeFileSync(join(home, 'argos.yaml'), settings)
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.endsWith('_API_KEY')))
  const child = spawn(join(build, 'argosd'), ['--home', home, '--port', '0'],
    { stdio: ['ignore', 'ignore', 'pipe'], env })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const self = { home, port: 0, rehearsal: 0 }
  const lines = []
  const ready = new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line)
      self.port ||= Number(/actor=api event=listening .*port=(\d+)/.exec(line)?.[1] ?? 0)
      self.rehearsal ||= Number(/actor=rehearsal event=serving port=(\d+)/.exec(line)?.[1] ?? 0)
      if (line.includes('event=ready')) resolve()
    })
    ended.then((code) => reject(new Error(`argosd ended with ${code}:\n${lines.join('\n')}`)))
  })
  await ready
  self.key = readFileSync(join(home, 'api-key'), 'utf8').trim()
  self.stop = async () => {
    child.kill('SIGTERM')
    const code = await ended
    rmSync(home, { recursive: true, force: true })
    return code
  }
  return self
}
