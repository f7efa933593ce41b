#!/usr/bin/env node
//  A complete platform adapter: the platform is a pipe. A line read is a message from a person, a line printed an answer.
//
//    echo_adapter.mjs [--home DIR | --endpoint E] [--key FILE] [PLATFORM [ACCOUNT]]
//
//  Durable once it is accepted; the next line is read then. Each answer is leased, printed and ended with a receipt. Kill it at any time: what
//  was accepted is answered after the next start. It ends after the end of its input, when all is answered.

import { createInterface } from 'node:readline'
import { env } from 'node:process'
import { parseArgs } from 'node:util'
import { connect, part } from './argos.mjs'

const text = { type: 'string' }
const { values, positionals: [platform = env.ARGOS_PLATFORM ?? 'pipe', account = env.ARGOS_ACCOUNT ?? 'main'] } =
  parseArgs({ options: { home: text, endpoint: text, key: text }, allowPositionals: true })
const us = `${platform}.${account}`
const started = Date.now()
let count = 0
let unanswered = 0
let ended = false

const peer = await connect({ name: env.ARGOS_NAME ?? us, ...values })
process.on('SIGTERM', () => leave())

async function leave () {
  await peer.close()
  process.exit(0)
}

//  A message in. The id makes it the same message after a crash: a real platform has one for each.
async function say (line) {
  const messageId = `${started}.${++count}`
  const source = { platform, account, chat_id: '1', chat_type: 'dm', user_id: 'me' }
  try {
    await peer.send('service:gateway', 'message.inbound', { source, text: line, message_id: messageId }, { id: `${us}:1:${messageId}`, key: `${us}:1` })
    unanswered++
  } catch (refused) {
    console.error(`not accepted: ${refused.message}`) // Nothing has happened; a real platform would be asked to send it again
  }
}

async function deliver (lease) {
  if (!peer.live()) return lease.release({ clean: true }) // The lease may have ended meanwhile: no effect may begin
  if (lease.type !== 'deliver.request' || typeof lease.body.text !== 'string') return lease.release({ reject: 'unknown_type' })
  const { op = 'send' } = lease.body
  if (op === 'send') console.log((lease.attempt > 1 ? '(perhaps again) ' : '') + lease.body.text)
  const receipt = op === 'send' ? { state: 'sent' } : { state: 'refused', op, error: 'unsupported' } // edit, react, ...: a pipe can't
  await lease.done([part('receipt.put', 'store', receipt)]).catch((refused) => console.error(refused.message))
  unanswered--
  if (ended && unanswered <= 0) leave()
}

async function listen () {
  for await (const line of createInterface({ input: process.stdin })) if (line.trim()) await say(line)
  ended = true
  if (unanswered <= 0) leave()
}

listen()
const capabilities = { platform, account, length: 262144, unit: 'bytes' }
try {
  for await (const { kind, lease } of peer.serve(`deliver.${us}`, { slots: 4, capabilities })) if (kind === 'lease') deliver(lease)
} catch (refused) { // The serve, or this instance is over
  console.error(`echo_adapter: ${refused.message}`)
  process.exit(1)
}
