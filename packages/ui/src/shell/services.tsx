import { AudioLines, Bot, Telescope, Waypoints } from 'lucide-react';
import type { ReactNode } from 'react';
import type { ServiceName } from './serviceNames.ts';

interface Service {
  title: string;
  icon: ReactNode;
  /** What it is for, in a few words. */
  brief: string;
  /** What it is for, in one or two sentences. */
  purpose: string;
}

export const SERVICES: Record<ServiceName, Service> = {
  voice: {
    title: 'Voice',
    icon: <AudioLines aria-hidden />,
    brief: 'Talk to an agent',
    purpose:
      'Talk to an agent and hear it answer. Speech becomes text, the model replies, and you can break in at any time.',
  },
  agent: {
    title: 'Agent',
    icon: <Bot aria-hidden />,
    brief: 'Message it, give it tasks',
    purpose:
      'An agent with memory, notes and tools. People, other agents, and any program that speaks the OpenAI API can give it work.',
  },
  research: {
    title: 'Research',
    icon: <Telescope aria-hidden />,
    brief: 'Ask with sources',
    purpose:
      'Ask a question and get an answer with its sources, or send it away to plan, read and write a report you can check line by line.',
  },
  switchboard: {
    title: 'Switchboard',
    icon: <Waypoints aria-hidden />,
    brief: 'Wire them together',
    purpose:
      'Connects agents, chat platforms and schedules. A message comes in, a route picks who answers, and every step can be followed.',
  },
};
