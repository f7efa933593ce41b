//  The official clients of OpenAI and Anthropic against the provider that fails (tests/providers): what it says when it is well
//  is what they understand, so that what it says when it is ill is worth something.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { after, before, test } from 'node:test'

import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

let provider
let openai
let anthropic

before(async () => {
  provider = spawn('python3', [resolve(import.meta.dirname, '../providers/fault_provider.py')], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(provider.stdout, 'data')
  const base = `http://127.0.0.1:${String(line).split(' ')[0]}`
  openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 })
  anthropic = new Anthropic({ baseURL: base, apiKey: 'none', maxRetries: 0 })
})

after(async () => {
  provider.stdin.end()
  const [code] = await once(provider, 'exit')
  assert.equal(code, 0)
})

const ask = (name) => ({ model: 'm', messages: [{ role: 'user', content: `please @${name}` }], stream_options: { include_usage: true } })
const message = (name) => ({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: `please @${name}` }] })

for (const name of ['ok', 'delays', 'comments', 'split_bytes', 'choices_missing', 'no_usage']) {
  test(`openai: the stream ${name} is read`, async () => {
    let text = ''
    for await (const chunk of await openai.chat.completions.create({ ...ask(name), stream: true })) {
      text += chunk.choices?.[0]?.delta?.content ?? ''
    }
    assert.match(text, /^(fine, thanks|slowly|well|hé😀)$/u)
  })
}

test('openai: text, usage and reason are assembled', async () => {
  const stream = openai.chat.completions.stream(ask('ok'))
  const completion = await stream.finalChatCompletion()
  assert.equal(completion.choices[0].message.content, 'fine, thanks')
  assert.equal(completion.choices[0].finish_reason, 'stop')
  assert.equal(completion.usage.total_tokens, 18)
})

test('openai: a tool call is assembled', async () => {
  const stream = openai.chat.completions.stream(ask('empty_after_tools'))
  const { message } = (await stream.finalChatCompletion()).choices[0]
  assert.equal(message.tool_calls[0].function.name, 'terminal')
  assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), { command: 'echo from-the-tool' })
})

test('openai: an answer that is not streamed', async () => {
  const completion = await openai.chat.completions.create(ask('not_streamed'))
  assert.equal(completion.choices[0].message.content, 'fine, thanks')
})

for (const [name, status, type] of [
  ['auth_401', 401, OpenAI.AuthenticationError], ['auth_403', 403, OpenAI.PermissionDeniedError], ['model_404', 404, OpenAI.NotFoundError],
  ['rate_for_ever', 429, OpenAI.RateLimitError], ['format_422', 422, OpenAI.UnprocessableEntityError], ['html_502_for_ever', 502, OpenAI.InternalServerError]
]) {
  test(`openai: ${name} is the error that it should be`, async () => {
    await assert.rejects(openai.chat.completions.create({ ...ask(name), stream: true }), (error) => error instanceof type && error.status === status)
  })
}

test('anthropic: text and usage are assembled', async () => {
  const final = await anthropic.messages.stream(message('a_ok')).finalMessage()
  assert.equal(final.content[0].text, 'fine, thanks')
  assert.equal(final.stop_reason, 'end_turn')
  assert.equal(final.usage.output_tokens, 9)
  assert.equal(final.usage.cache_read_input_tokens, 3)
})

test('anthropic: thinking and a tool call are assembled', async () => {
  const final = await anthropic.messages.stream(message('a_tools')).finalMessage()
  assert.deepEqual(final.content[0], { type: 'thinking', thinking: 'let me see', signature: 'c2ln' })
  assert.equal(final.content[1].type, 'tool_use')
  assert.deepEqual(final.content[1].input, { command: 'echo from-the-tool' })
  assert.equal(final.stop_reason, 'tool_use')
})

for (const name of ['a_max_tokens', 'a_refusal', 'a_empty', 'a_pings']) {
  test(`anthropic: the stream ${name} is read to its end`, async () => {
    const final = await anthropic.messages.stream(message(name)).finalMessage()
    assert.ok(['max_tokens', 'refusal', 'end_turn'].includes(final.stop_reason))
  })
}

test('anthropic: 529 is an error with that status', async () => {
  await assert.rejects(anthropic.messages.create(message('a_overloaded_529')), (error) => error.status === 529)
})

test('anthropic: an error in the stream is one', async () => {
  await assert.rejects(anthropic.messages.stream(message('a_overloaded_event')).finalMessage(), /overloaded/i)
})
